import { LRUCache } from 'lru-cache';
import type { CampaignMail } from './campaign-mail.js';

/** Mails that were compiled, or are just being, by a key that tells apart what is compiled apart. */
export class CompiledMails {
  readonly #mails: LRUCache<string, Promise<CampaignMail>>;

  constructor(max: number) {
    this.#mails = new LRUCache({ max });
  }

  of(key: string, compile: () => Promise<CampaignMail>): Promise<CampaignMail> {
    const known = this.#mails.get(key);
    if (known !== undefined) return known;
    const compiling = compile();
    compiling.catch(() => this.#mails.delete(key));
    this.#mails.set(key, compiling);
    return compiling;
  }
}
