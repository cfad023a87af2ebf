"""The vendor operator's own decision: host tiling and swizzle, reproduced exactly."""
