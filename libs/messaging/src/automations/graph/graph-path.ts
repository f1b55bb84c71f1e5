import { boundedErrors } from '#kernel';
import type { AutomationCheck } from '../automation.errors.js';
import type { AutomationGraph } from './automation-graph.js';

const IN_CONFIG = /^nodes\[(\d+)\]\.config/;

/** The faults of a graph as the checks of a refused activation. */
export function checksOf(
  faults: Readonly<Record<string, string>>,
  graph: AutomationGraph | null,
): readonly AutomationCheck[] {
  return Object.entries(boundedErrors(faults)).map(([path, fault]) => ({
    code: codeOf(path, graph),
    severity: 'CRITICAL',
    result: 'FAIL',
    path,
    message: `${path} ${fault}.`,
  }));
}

function codeOf(path: string, graph: AutomationGraph | null): string {
  const place = IN_CONFIG.exec(path)?.[1];
  if (place !== undefined) return graph?.nodes[Number(place)]?.type ?? 'graph';
  return path.startsWith('trigger') ? 'trigger' : 'graph';
}
