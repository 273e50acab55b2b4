"""What is measured of alerts. The frame is given its source from outside."""
