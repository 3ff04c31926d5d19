"""The state of a repository to the signature of a job. The same changes in another order have the same one."""

from __future__ import annotations

from hashlib import sha256

from plughost_sdk import hook
from plughost_sdk.hook_messages import PreflightRequest, PreflightResult, RepoState


def preflight(request: PreflightRequest) -> PreflightResult:
    """Say whether the job has to run: not if it ran with this signature before."""
    signature = sign(request.job_id, request.repo_state)
    if signature == request.previous_signature:
        return hook.skip(reason="nothing changed since the last run", signature=signature)
    reason = "something changed since the last run" if request.previous_signature else "it has not run before"
    return hook.run(reason=reason, signature=signature)


def sign(job_id: str, state: RepoState) -> bytes:
    """Return 32 bytes over the job, its changes and its environment. The commit is not part of it."""
    digest = sha256(_field(job_id.encode()))
    for change in sorted((each.path.encode(), each.type, each.checksum) for each in state.changes):
        digest.update(b"change" + _field(change[0]) + _field(str(change[1]).encode()) + _field(change[2]))
    for key in sorted(state.env):
        digest.update(b"env" + _field(key.encode()) + _field(state.env[key].encode()))
    return digest.digest()


def _field(data: bytes) -> bytes:
    """Return *data* after its length, so that where one field ends cannot be moved."""
    return len(data).to_bytes(8, "big") + data
