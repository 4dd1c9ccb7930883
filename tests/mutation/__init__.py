"""The mutation test: changes settings of a lab node out of band. Validators must detect each change, and only its role may repair it."""
