"""The door for Dapr's SDKs over gRPC: the same acts as over HTTP, and subscriptions by stream."""
