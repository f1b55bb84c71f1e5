import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import {
  type AutomationGraph,
  type AutomationNode,
  checkStructure,
  nodesInOrder,
  nodesOnCycles,
  type NodeType,
  readGraph,
} from './automation-graph.js';
import { GraphFaults } from './config-reader.js';
import { readConfig } from './node-config.js';

const node = (id: string, type: string, config: object = {}) => ({ id, type, config });
const edge = (source: string, target: string, branch?: string) => ({
  id: `${source}-${target}-${branch}`,
  source,
  target,
  branch,
});
const read = (nodes: unknown, edges: unknown = []) =>
  readGraph({ nodes: JSON.stringify(nodes), edges: JSON.stringify(edges) });
const graphOf = (nodes: unknown, edges: unknown = []): AutomationGraph => {
  const { graph, errors } = read(nodes, edges);
  if (graph === undefined) throw new Error(JSON.stringify(errors));
  return graph;
};

describe('a graph that is none', () => {
  it.each([
    ['no JSON', { nodes: '[', edges: '[]' }, { nodes: 'is not valid JSON' }],
    ['no arrays', { nodes: '{}', edges: '1' }, { nodes: 'must be an array', edges: 'must be an array' }],
    [
      'no objects in it',
      { nodes: '[1]', edges: '[null]' },
      { 'nodes[0]': 'must be an object', 'edges[0]': 'must be an object' },
    ],
    [
      'ways between nodes that cannot be read',
      { nodes: '[', edges: JSON.stringify([edge('a', 'b')]) },
      { nodes: 'is not valid JSON' },
    ],
  ])('has %s', (_, texts, errors) => {
    expect(readGraph(texts).errors).toEqual(errors);
  });

  it('has more than 200 nodes', () => {
    const nodes = Array.from({ length: 201 }, (_item, index) => node(`n${index}`, 'delay'));
    expect(read(nodes).errors).toEqual({ nodes: 'must contain at most 200 entries' });
    expect(read(nodes.slice(1)).errors).toBeUndefined();
  });

  it('has a config that is nested more than 100 levels deep', () => {
    const body = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
    const hook = (levels: number) => [node('hook', 'webhook', { body: body(levels) })];
    expect(read(hook(99)).errors).toBeUndefined();
    for (const levels of [100, 3_000])
      expect(read(hook(levels)).errors).toEqual({
        'nodes[0].config': 'must be nested at most 100 levels deep',
      });
  });

  it('has faults in nodes and edges, all told at once', () => {
    const nodes = [
      { type: 'delay' },
      node('a', 'fax'),
      node('b', 'delay'),
      node('b', 'delay'),
      { id: 7, type: 'goal', config: [] },
    ];
    const edges = [
      { id: 'x', source: 'a' },
      { ...edge('b', 'b'), id: 'x', colour: 1 },
    ];
    expect(read(nodes, edges).errors).toEqual({
      'nodes[0].id': 'is required',
      'nodes[1].type':
        'must be one of trigger, email, delay, condition, ab_split, goal, webhook, topic_action, segment_action, update_field, wait_for',
      'nodes[3].id': 'is used twice',
      'nodes[4].id': 'must be a string',
      'nodes[4].config': 'must be an object',
      'edges[0].target': 'is required',
      'edges[1].id': 'is used twice',
      'edges[1].colour': 'is not a known field',
    });
  });

  it('has an unknown step, an id twice and a way to nowhere, all told at once', () => {
    const nodes = [node('a', 'dance'), node('a', 'email')];
    expect(Object.keys(read(nodes, [edge('a', 'z')]).errors ?? {})).toEqual([
      'nodes[0].type',
      'nodes[1].id',
      'edges[0].target',
    ]);
  });

  it('has ways from or to nowhere', () => {
    expect(read([node('a', 'delay')], [edge('a', 'z'), edge('y', 'a')]).errors).toEqual({
      'edges[0].target': 'is not the id of a node',
      'edges[1].source': 'is not the id of a node',
    });
  });

  it('goes round in a circle; what only hangs on it is not told', () => {
    const nodes = ['s', 'a', 'b', 'c'].map((id) => node(id, 'delay'));
    const edges = [edge('s', 'a'), edge('a', 'b'), edge('b', 'a'), edge('b', 'c')];
    expect(read(nodes, edges).errors).toEqual({ 'nodes[1]': 'is on a cycle', 'nodes[2]': 'is on a cycle' });
    expect(read([node('a', 'delay')], [edge('a', 'a')]).errors).toEqual({ 'nodes[0]': 'is on a cycle' });
  });
});

describe('any graph', () => {
  const arbitrary = fc.integer({ min: 1, max: 12 }).chain((size) =>
    fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 20 }).map((pairs) => ({
      nodes: Array.from({ length: size }, (_item, index): AutomationNode => ({
        id: `n${index}`,
        type: 'delay',
        config: {},
      })),
      edges: pairs.map(([a, b], index) => ({
        id: `e${index}`,
        source: `n${a}`,
        target: `n${b}`,
        branch: null,
      })),
    })),
  );

  it('is brought in order unless it has a circle', () => {
    fc.assert(
      fc.property(arbitrary, (graph) => {
        const order = nodesInOrder(graph);
        const rank = new Map(order.map((place, index) => [`n${place}`, index]));
        expect(order.length < graph.nodes.length).toBe(nodesOnCycles(graph).length > 0);
        for (const { source, target } of graph.edges) {
          const [from, to] = [rank.get(source), rank.get(target)];
          if (to !== undefined) expect(from).toBeLessThan(to);
        }
      }),
    );
  });
});

describe('a graph that cannot be walked', () => {
  const faultsOf = (nodes: unknown, edges: unknown = []) => {
    const faults = new GraphFaults();
    checkStructure(graphOf(nodes, edges), faults);
    return faults.byPath;
  };

  it('has no trigger, or two', () => {
    expect(faultsOf([node('a', 'delay')])).toEqual({ nodes: 'must contain a trigger' });
    expect(faultsOf([node('a', 'trigger'), node('b', 'trigger')])).toEqual({
      'nodes[1]': 'must be the only trigger',
    });
  });

  it('has steps that nothing leads to', () => {
    const nodes = [node('t', 'trigger'), node('a', 'delay'), node('b', 'delay'), node('c', 'delay')];
    expect(faultsOf(nodes, [edge('t', 'a'), edge('b', 'c')])).toEqual({
      'nodes[2]': 'cannot be reached from the trigger',
      'nodes[3]': 'cannot be reached from the trigger',
    });
  });

  it('lacks a branch, has one twice, or one that there is not', () => {
    const nodes = [node('t', 'trigger'), node('if', 'condition'), node('ab', 'ab_split'), node('a', 'delay')];
    const edges = [
      edge('t', 'if'),
      edge('if', 'ab', 'yes'),
      { ...edge('if', 'a', 'yes'), id: 'again' },
      edge('ab', 'a', 'a'),
      edge('ab', 'a'),
    ];
    expect(faultsOf(nodes, edges)).toEqual({
      'nodes[1]': 'needs an edge for the branch no',
      'edges[2]': 'must be the only edge for the branch yes',
      'nodes[2]': 'needs an edge for the branch b',
      'edges[4].branch': 'must be one of a, b',
    });
  });

  it('has two ways out of a step that has one, a branch on it, or a way back to the trigger', () => {
    const nodes = [node('t', 'trigger'), node('a', 'delay'), node('b', 'delay'), node('c', 'delay')];
    expect(faultsOf(nodes, [edge('t', 'a'), edge('a', 'b'), edge('a', 'c'), edge('t', 'c', 'yes')])).toEqual({
      'edges[2]': 'must be the only edge from its source',
      'edges[3].branch': 'must be left out: a trigger has no branches',
    });
    const second = [node('t', 'trigger'), node('u', 'trigger'), node('a', 'delay')];
    expect(faultsOf(second, [edge('u', 't'), edge('t', 'a')])).toMatchObject({
      'edges[0].target': 'must not be the trigger',
    });
  });
});

describe('the config of a step', () => {
  const faultsOf = (type: NodeType, config: Record<string, unknown>) => {
    const faults = new GraphFaults();
    readConfig({ id: 'x', type, config }, 'c', faults);
    return faults.byPath;
  };
  const root = { version: 1, where: { field: 'email', op: 'exists' } };

  it.each<[NodeType, Record<string, unknown>]>([
    ['trigger', {}],
    ['trigger', { reEntry: 'AFTER_EXIT', segmentKey: 'APIT-1', eventName: 'order.completed' }],
    ['email', { subject: 'Hi', contentJson: '{"blocks":[]}' }],
    [
      'email',
      {
        subject: 'Hi',
        contentJson: { blocks: [] },
        previewText: null,
        fromEmail: 'a@b.example',
        topicKey: 'APIT-1',
      },
    ],
    ['delay', { duration: 'P3DT2H' }],
    ['delay', { until: { time: '23:59', timezone: 'Europe/Berlin' } }],
    ['delay', { until: { time: '09:00', timezone: 'UTC', daysOfWeek: [1, 7, 'MON'] } }],
    ['condition', { rules: root }],
    ['condition', { rules: JSON.stringify(root) }],
    ['ab_split', { weights: { a: 1, b: 0 } }],
    ['goal', { name: 'Paid', rules: root }],
    ['webhook', { url: 'https://example.com/x', headers: { 'X-A': 'b' }, body: { a: [1] } }],
    ['topic_action', { action: 'subscribe', topicKey: 'APIT-1' }],
    ['segment_action', { action: 'remove', segmentKey: 'APIT-1' }],
  ])('of a %s may be %j', (type, config) => {
    expect(faultsOf(type, config)).toEqual({});
  });

  it.each<[NodeType, Record<string, unknown>, Record<string, unknown>]>([
    [
      'trigger',
      { reEntry: 'TWICE', colour: 1 },
      { 'c.reEntry': 'must be one of ONCE, AFTER_EXIT, ALWAYS', 'c.colour': 'is not a known field' },
    ],
    ['trigger', { eventName: 'Order Completed' }, { 'c.eventName': 'must be like order.completed' }],
    ['email', {}, { 'c.subject': 'is required', 'c.contentJson': 'is required' }],
    [
      'email',
      { subject: 'a\nb', contentJson: 1, fromEmail: 'nobody' },
      {
        'c.subject': 'must not contain control characters',
        'c.contentJson': 'must be an object',
        'c.fromEmail': expect.any(String),
      },
    ],
    ['delay', {}, { 'c.duration': 'is required' }],
    ['delay', { duration: 'three days' }, { 'c.duration': 'must be an ISO 8601 duration such as P30D' }],
    ['delay', { duration: 'P1D', until: {} }, { 'c.until': 'must be left out beside duration' }],
    [
      'delay',
      { until: { time: '9', timezone: '+02:00', daysOfWeek: [0] } },
      {
        'c.until.time': 'must be a time of day such as 09:00',
        'c.until.timezone': 'must be an IANA time zone such as Europe/Berlin',
        'c.until.daysOfWeek[0]': expect.stringMatching(/^must be 1/),
      },
    ],
    [
      'delay',
      { until: { time: '09:00', timezone: 'Europe/Atlantis', daysOfWeek: [] } },
      {
        'c.until.timezone': 'must be an IANA time zone such as Europe/Berlin',
        'c.until.daysOfWeek': 'must be a list of at least one day',
      },
    ],
    ['condition', {}, { 'c.rules': 'is required' }],
    ['ab_split', {}, { 'c.weights': 'is required' }],
    [
      'ab_split',
      { weights: { a: -1, c: 2 } },
      {
        'c.weights.a': 'must be a number from 0 to 1000000',
        'c.weights.b': 'is required',
        'c.weights.c': 'is not a known field',
      },
    ],
    ['ab_split', { weights: { a: 0, b: 0 } }, { 'c.weights': 'must not both be 0' }],
    ['goal', {}, { 'c.name': 'is required', 'c.rules': 'is required' }],
    ['webhook', {}, { 'c.url': 'is required' }],
    ['webhook', { url: 'ftp://x' }, { 'c.url': 'must be an http or https URL' }],
    [
      'webhook',
      { url: 'https://a:b@x.example', headers: { Host: 'x', 'a b': 'c', 'X-A': 'a\r\nb' } },
      {
        'c.url': 'must not contain a user name or a password',
        'c.headers.Host': 'is set by the service',
        'c.headers.a b': 'is not the name of a header',
        'c.headers.X-A': 'must be a string of visible ASCII characters',
      },
    ],
    [
      'topic_action',
      { action: 'leave' },
      { 'c.action': 'must be one of subscribe, unsubscribe', 'c.topicKey': 'is required' },
    ],
    ['segment_action', {}, { 'c.action': 'is required', 'c.segmentKey': 'is required' }],
  ])('of a %s cannot be %j', (type, config, faults) => {
    expect(faultsOf(type, config)).toEqual(faults);
  });
});
