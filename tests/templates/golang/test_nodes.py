from tornado_proxy.templates.golang.actions import action_parser
from tornado_proxy.templates.golang.nodes import ActionNode, CommandNode, FieldChain, Pipeline


def test_nodes_are_values():
    """Equal texts have equal nodes, with the same places in them."""
    field = FieldChain(1, 3, ("X",))
    pipeline = Pipeline(1, 3, (), False, (CommandNode(1, 3, (field,)),))
    assert action_parser().parse(" .X ") == ActionNode(1, 3, pipeline=pipeline)
