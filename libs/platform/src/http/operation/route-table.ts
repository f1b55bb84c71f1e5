import type { RouteOptions } from 'fastify';
import { API_PREFIX, isForOperator, OPERATOR_PREFIX, type OperationOptions } from './operation.decorator.js';

interface KnownRoute {
  readonly url: string;
  readonly form: RegExp;
  readonly methods: Map<string, OperationOptions | undefined>;
}

/** The one path of the operator's API without a key. */
const OPERATOR_DOCUMENT = `${OPERATOR_PREFIX}/openapi.json`;

/** The routes that exist, so that a wrong method can be told from a wrong path. */
export class RouteTable {
  readonly #routes = new Map<string, KnownRoute>();

  /** Notes a route as it is registered; throws when one that needs a key is not an `@Operation`. */
  add({ url, method, config }: Pick<RouteOptions, 'url' | 'method' | 'config'>): void {
    const needsKey = url.startsWith(`${API_PREFIX}/`) || (isForOperator(url) && url !== OPERATOR_DOCUMENT);
    if (needsKey && config?.operation === undefined) {
      throw new Error(`${[method].flat().join(', ')} ${url} has no @Operation.`);
    }
    const route = this.#routes.get(url) ?? { url, form: formOf(url), methods: new Map<string, undefined>() };
    for (const name of [method].flat()) route.methods.set(name, config?.operation);
    this.#routes.set(url, route);
  }

  /** The methods that `path` (undecoded, without query) answers to; empty when there is no such path. */
  methodsOf(path: string): string[] {
    const methods = new Set<string>();
    for (const route of this.#routes.values()) {
      if (route.form.test(path)) for (const method of route.methods.keys()) methods.add(method);
    }
    return [...methods].sort();
  }

  /** The operation at `path` (undecoded, without query), which the router could not read; undefined when there is none. */
  operationAt(method: string, path: string): OperationOptions | undefined {
    for (const { form, methods } of this.#routes.values()) {
      const operation = form.test(path) ? methods.get(method) : undefined;
      if (operation !== undefined) return operation;
    }
    return undefined;
  }

  /** Every route as `[method, url]`. */
  all(): [method: string, url: string][] {
    return [...this.#routes.values()].flatMap(({ url, methods }) =>
      [...methods.keys()].map((method): [string, string] => [method, url]),
    );
  }
}

/** `/topics/:topicKey` as an expression for paths; a parameter is one segment or a part of it. */
function formOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
}
