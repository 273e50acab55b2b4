"""`./broker demo`: a cast of clients that keeps a broker busy. It speaks HTTP to it, and knows no Django."""
