import { Resources } from './resources.js';
import { type MailwrightOptions, Transport } from './transport.js';

/** The Mailwright API with one key: one project, live or test. */
export class Mailwright extends Resources {
  constructor(options: MailwrightOptions) {
    super(new Transport(options));
  }
}
