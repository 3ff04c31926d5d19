module greeter

go 1.18
