from .conventions import conventions_text as conventions_text
from .frames import comparison_frame as comparison_frame
from .frames import evaluation_frame as evaluation_frame
from .frames import lift_frame as lift_frame
from .frames import per_query_frame as per_query_frame
from .frames import per_query_frames as per_query_frames
from .frames import slices_frame as slices_frame
from .frames import tradeoff_frame as tradeoff_frame
