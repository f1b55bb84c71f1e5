import {
  type LimitNode,
  type OffsetNode,
  type OperationNode,
  PostgresQueryCompiler,
  type QueryId,
  type RawNode,
  type RootOperationNode,
  ValueNode,
} from 'kysely';
import type { AskedStatement } from './message.js';
import { type Statement, StatementName } from './statement.js';

const LIMIT = /\blimit $/i;
const OFFSET = /\boffset $/i;

/**
 * Writes limits and offsets of 0 as literals: a plan for any values takes an unknown limit for a tenth of all rows, and reads
 * them all. A prepared statement with ever other limits computes it: `limit least(…)`. Names statements (`named`).
 */
export class StatementCompiler extends PostgresQueryCompiler {
  #name: string | undefined;

  override compileQuery(node: RootOperationNode, queryId: QueryId): Statement {
    this.#name = undefined;
    const compiled = super.compileQuery(node, queryId);
    return { ...compiled, name: this.#name };
  }

  protected override visitValue(node: ValueNode): void {
    const { value } = node;
    if (value instanceof StatementName) {
      this.#name = value.name;
      this.append(`/* ${value.name} */`);
    } else super.visitValue(node);
  }

  protected override visitRaw({ sqlFragments, parameters }: RawNode): void {
    for (const [index, fragment] of sqlFragments.entries()) {
      this.append(fragment);
      const value = parameters[index];
      if (value === undefined) continue;
      if (LIMIT.test(fragment)) this.#visitLimit(value);
      else if (OFFSET.test(fragment)) this.#visitOffset(value);
      else this.visitNode(value);
    }
  }

  protected override visitLimit({ limit }: LimitNode): void {
    this.append('limit ');
    this.#visitLimit(limit);
  }

  protected override visitOffset({ offset }: OffsetNode): void {
    this.append('offset ');
    this.#visitOffset(offset);
  }

  #visitLimit(node: OperationNode): void {
    if (ValueNode.is(node) && Number.isSafeInteger(node.value)) this.appendImmediateValue(node.value);
    else this.visitNode(node);
  }

  #visitOffset(node: OperationNode): void {
    if (ValueNode.is(node) && node.value === 0) this.appendImmediateValue(0);
    else this.visitNode(node);
  }
}

/** A compiled statement as it is asked: prepared where it has a name. */
export function askedOf({ name, sql: text, parameters }: Statement): AskedStatement {
  return { text, values: [...parameters], ...(name !== undefined && { name }) };
}
