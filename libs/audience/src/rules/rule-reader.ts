import { readConsent, readEvent, readSegment, type RuleReading } from './rule-conditions.js';
import { type JsonObject, member, RuleFaults } from './rule-faults.js';
import { customKeyOf, readFieldCondition } from './rule-field-condition.js';
import {
  MAX_NESTED_CONDITIONS,
  MAX_RULE_CONDITIONS,
  MAX_RULE_DEPTH,
  MAX_RULE_OCTETS,
  type RuleCatalogue,
  type RuleNode,
} from './rule.js';
import { folded } from './text-folding.js';

/** The path of the rules in a request, with which the paths of errors begin. */
export const RULES = 'rules';

const KINDS = ['and', 'or', 'not', 'field', 'consent', 'segment', 'event'] as const;
type Kind = (typeof KINDS)[number];

export type RuleErrors = Readonly<Record<string, string>>;

/** Valid rules, with what they name. */
export interface ReadRules {
  readonly where: RuleNode;
  readonly conditionCount: number;
  readonly segmentIds: readonly string[];
}

/** The keys that rules name, valid or not, which a `RuleCatalogue` has to look up. */
export interface RuleReferences {
  readonly topicKeys: ReadonlySet<string>;
  readonly campaignKeys: ReadonlySet<string>;
  readonly segmentKeys: ReadonlySet<string>;
  readonly customFields: ReadonlySet<string>;
}

/** Parses JSON, or returns the errors, whose paths begin with `root`. */
export function parseRuleText(
  text: string,
  root = RULES,
): { readonly json: unknown } | { readonly errors: RuleErrors } {
  if (Buffer.byteLength(text) > MAX_RULE_OCTETS)
    return { errors: { [root]: `must be at most ${MAX_RULE_OCTETS / 1024} KB` } };
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { errors: { [root]: 'is not JSON' } };
  }
}

/** Finds the keys in rules at any depth, well-formed or not; bounded by the size of the text. */
export function referencesIn(json: unknown): RuleReferences {
  const found = {
    topicKey: new Set<string>(),
    campaignKey: new Set<string>(),
    segmentKey: new Set<string>(),
    field: new Set<string>(),
  };
  for (const object of objectsIn(json)) {
    for (const [name, value] of Object.entries(object)) {
      if (typeof value === 'string' && Object.hasOwn(found, name))
        found[name as keyof typeof found].add(value);
    }
  }
  return {
    topicKeys: found.topicKey,
    campaignKeys: found.campaignKey,
    segmentKeys: found.segmentKey,
    customFields: new Set([...found.field].map(customKeyOf).filter((key) => key !== null)),
  };
}

/** At any depth, the outermost first. */
function* objectsIn(json: unknown): Generator<object> {
  const open: unknown[] = [json];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    yield next;
    for (const value of Object.values(next)) if (typeof value === 'object') open.push(value);
  }
}

/**
 * The wanted things that rules in JSON text name: the key of a topic or a custom field, or values of its options, which are
 * compared ignoring case as in `readRules`.
 */
export function namedInRules(
  text: string,
  wanted:
    | { readonly kind: 'topic' | 'custom field'; readonly key: string }
    | { readonly kind: 'option'; readonly key: string; readonly values: readonly string[] },
): readonly string[] {
  const parsed = parseRuleText(text);
  if ('errors' in parsed) return [];
  const { topicKeys, customFields } = referencesIn(parsed.json);
  switch (wanted.kind) {
    case 'topic':
      return topicKeys.has(wanted.key) ? [wanted.key] : [];
    case 'custom field':
      return customFields.has(wanted.key) ? [wanted.key] : [];
    case 'option': {
      const compared = comparedWith(parsed.json, wanted.key);
      return wanted.values.filter((value) => compared.has(folded(value)));
    }
  }
}

/** The texts, folded, that rules compare values of a custom field with. */
function comparedWith(json: unknown, key: string): ReadonlySet<string> {
  const texts: string[] = [];
  for (const object of objectsIn(json)) {
    const { field, value } = object as { readonly field?: unknown; readonly value?: unknown };
    if (typeof field !== 'string' || customKeyOf(field) !== key) continue;
    texts.push(...[value].flat().filter((each) => typeof each === 'string'));
  }
  return new Set(texts.map(folded));
}

export interface RuleReadingOptions {
  /** The rules were accepted before: a thing that they name may be deleted since. */
  readonly stored?: boolean;
  /** The beginning of the paths of errors. */
  readonly root?: string;
}

/** Reads `{"version":1,"where":node}` with the catalogue of the project: the rules, or every error by its path. */
export function readRules(
  json: unknown,
  catalogue: RuleCatalogue,
  { stored = false, root = RULES }: RuleReadingOptions = {},
): { readonly rules: ReadRules } | { readonly errors: RuleErrors } {
  const faults = new RuleFaults();
  const reader = new NodeReader({ catalogue, faults, stored });
  const object = faults.object(json, root);
  if (object === null) return { errors: faults.errors };
  faults.onlyMembers(object, ['version', 'where'], root);
  const version = member(object, 'version');
  if (version !== 1) faults.add(`${root}.version`, version === undefined ? 'is required' : 'must be 1');
  const where = reader.node(member(object, 'where'), `${root}.where`, 0);
  reader.checkSize(root);
  if (where === null || !faults.isEmpty) return { errors: faults.errors };
  return { rules: { where, conditionCount: reader.conditionCount, segmentIds: [...reader.segmentIds] } };
}

class NodeReader {
  readonly segmentIds = new Set<string>();
  conditionCount = 0;
  #nestedCount = 0;

  constructor(private readonly reading: RuleReading) {}

  /** `depth`: the number of `and`, `or` and `not` around the node. */
  node(value: unknown, path: string, depth: number): RuleNode | null {
    const { faults } = this.reading;
    const node = faults.object(value, path);
    if (node === null) return null;
    const kinds = KINDS.filter((kind) => member(node, kind) !== undefined);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1)
      return faults.add(path, `must have one of ${KINDS.join(', ')}`);
    if (kind !== 'and' && kind !== 'or' && kind !== 'not') return this.#condition(kind, node, path);
    if (depth === MAX_RULE_DEPTH)
      return faults.add(path, `must not be nested deeper than ${MAX_RULE_DEPTH} levels`);
    faults.onlyMembers(node, [kind], path);
    const inner = `${path}.${kind}`;
    if (kind === 'not') {
      const negated = this.node(member(node, kind), inner, depth + 1);
      return negated === null ? null : { kind, node: negated };
    }
    const nodes = faults.list(member(node, kind), inner, (each, at) => this.node(each, at, depth + 1));
    return nodes === null ? null : { kind, nodes };
  }

  checkSize(root: string): void {
    const { faults, stored } = this.reading;
    if (stored) return;
    if (this.conditionCount > MAX_RULE_CONDITIONS)
      faults.add(root, `must have at most ${MAX_RULE_CONDITIONS} conditions`);
    else if (this.conditionCount + this.#nestedCount > MAX_NESTED_CONDITIONS) {
      faults.add(
        root,
        `must have at most ${MAX_NESTED_CONDITIONS} conditions together with the segments that it names`,
      );
    }
  }

  #condition(kind: Exclude<Kind, 'and' | 'or' | 'not'>, node: JsonObject, path: string): RuleNode | null {
    this.conditionCount += 1;
    const { catalogue, faults } = this.reading;
    if (kind === 'field') return readFieldCondition(node, path, catalogue, faults, this.reading);
    if (kind === 'consent') return readConsent(node, path, this.reading);
    if (kind === 'event') return readEvent(node, path, this.reading);
    const condition = readSegment(node, path, this.reading);
    if (condition !== null && condition.segmentId !== null) this.#noteSegment(condition.segmentId);
    return condition;
  }

  #noteSegment(id: string): void {
    this.segmentIds.add(id);
    const known = [...this.reading.catalogue.segments.values()].find((segment) => segment.id === id);
    this.#nestedCount += known?.conditions ?? 0;
  }
}
