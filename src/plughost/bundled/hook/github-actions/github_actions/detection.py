"""The files of a repository to signals and facts. Goes by names, opens nothing."""

from __future__ import annotations

from plughost_sdk.hook_messages import DetectRequest, DetectResult

WORKFLOWS = ".github/workflows/"
LANGUAGES = {
    "python": ("pyproject.toml", "setup.py", "requirements.txt", "Pipfile"),
    "node": ("package.json",),
    "ruby": ("Gemfile",),
    "go": ("go.mod",),
    "rust": ("Cargo.toml",),
    "java": ("pom.xml", "build.gradle", "build.gradle.kts"),
}

# How sure one can be that the repository is built by GitHub Actions.
CERTAIN, LIKELY, POSSIBLE = 1.0, 0.6, 0.2


def detect(request: DetectRequest) -> DetectResult:
    """Return what the names of the files say."""
    files = sorted(request.repo.files)
    workflows = [each for each in files if each.startswith(WORKFLOWS) and each.endswith((".yml", ".yaml"))]
    result = DetectResult(confidence=POSSIBLE if files else 0.0)
    if workflows:
        result.signals.append("provider:github")
        result.facts["github.workflows"] = ",".join(each.removeprefix(WORKFLOWS) for each in workflows)
        result.confidence = CERTAIN
    elif any(each.startswith(".github/") for each in files):
        result.confidence = LIKELY
    for language, manifests in LANGUAGES.items():
        found = [each for each in files if each.rpartition("/")[2] in manifests]
        if found:
            result.signals.append(f"lang:{language}")
            # The one nearest to the root, which is the project's own.
            result.facts[f"lang.{language}"] = min(found, key=lambda each: (each.count("/"), each))
    return result
