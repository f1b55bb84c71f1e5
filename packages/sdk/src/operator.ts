import type { components } from './operator-types.js';
import { OperatorResources } from './operator-resources.js';
import { type MailwrightOptions, Transport } from './transport.js';

export type OperatorSchemas = components['schemas'];

/** The operator's API of an installation with one key (`mw_op_…`). */
export class MailwrightOperator extends OperatorResources {
  constructor(options: MailwrightOptions) {
    super(new Transport(options, '/operator/v1'));
  }
}
