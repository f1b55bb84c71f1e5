/** Rule of the linter that the built-in `max-params` does not know: functions take few parameters, constructors what they need. */
const MAX_PARAMS = 5;
const maxParams = {
  create(context) {
    const check = (node) => {
      const isConstructor = node.parent?.type === 'MethodDefinition' && node.parent.kind === 'constructor';
      if (isConstructor || node.params.length <= MAX_PARAMS) return;
      context.report({
        node,
        message: `${node.params.length} parameters; at most ${MAX_PARAMS}, then one object.`,
      });
    };
    return { FunctionDeclaration: check, FunctionExpression: check, ArrowFunctionExpression: check };
  },
};

export default { meta: { name: 'house' }, rules: { 'max-params': maxParams } };
