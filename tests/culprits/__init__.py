"""How well pair gates find bad devices: simulated fleets through the real plan and the real judge, and real agents on loopback addresses."""
