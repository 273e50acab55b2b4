"""What Dapr's clients say, in this broker's words: used by its door over HTTP and by the one over gRPC."""
