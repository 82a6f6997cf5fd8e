"""Models of the zoo that write images: what they learn, their codec, their classifier, and the program that trains."""
