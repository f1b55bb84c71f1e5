import { Injectable } from '@nestjs/common';
import { OutgoingHttp } from '#platform';
import { type AutomationGraph, isOf } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { readConfig } from '../graph/node-config.js';

/** For all names together; those that are left are checked when they are called. */
const LOOKING_MS = 5_000;

/** Checks that the webhooks of an automation lead to public addresses. */
@Injectable()
export class WebhookHosts {
  constructor(private readonly http: OutgoingHttp) {}

  /** Resolves one name after the other, so that no automation occupies the resolver. */
  async judge({ nodes }: AutomationGraph, faults: GraphFaults): Promise<void> {
    const enough = AbortSignal.timeout(LOOKING_MS);
    for (const [place, node] of nodes.entries()) {
      if (!isOf(node, 'webhook') || enough.aborted) continue;
      const path = `nodes[${place}].config`;
      const config = readConfig(node, path, new GraphFaults());
      const fault = config && (await this.http.hostFault(config.url, { signal: enough }));
      if (fault !== null) faults.add(`${path}.url`, fault);
    }
  }
}
