"""What makes an answer wrong, in words for people; None where nothing is. Pure, one file for each kind of fault."""
