import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { DkimKeyMaker } from '../dkim/dkim-key-maker.service.js';
import type { NewDkimKey } from '../dkim/dkim-key-pair.js';
import type { NewDnsRecord, RecordPurpose, SettingsValues } from '../dns/dns-record.js';

const TOKEN_BYTES = 20;

/** What the owner of a domain publishes. */
interface PublishedByOwner {
  /** The host below the name that undeliverable mail returns to: so SPF aligns (RFC 9989 §4.4.2). */
  readonly returnPathHost: string;
  /** What proves the domain and brings its bounces back: all but the records of its keys. */
  readonly records: readonly NewDnsRecord[];
  readonly keys: readonly NewDkimKey[];
}

/** Makes what the owner of a new domain, or of a new name, has to publish. */
@Injectable()
export class DomainRecordsMaker {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly keys: DkimKeyMaker,
  ) {}

  async make(scope: ProjectScope, domainName: string): Promise<PublishedByOwner> {
    const { RETURN_PATH_LABEL } = this.config;
    const { SPF, MX } = recordsOfSettings(this.config);
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    const returnPathHost = `${RETURN_PATH_LABEL}.${domainName}`;
    const records: NewDnsRecord[] = [
      txt('OWNERSHIP', `_mailwright.${domainName}`, `mailwright-verification=${token}`),
      txt('SPF', returnPathHost, SPF),
      { purpose: 'MX', recordType: 'MX', host: returnPathHost, expectedValue: MX },
      txt('DMARC', `_dmarc.${domainName}`, 'v=DMARC1; p=none'),
    ];
    return { returnPathHost, records, keys: await this.keys.make(scope) };
  }
}

/** Values of the records that name hosts of the installation. */
export const recordsOfSettings = ({ BOUNCE_HOST, SPF_INCLUDE }: Config): SettingsValues => ({
  SPF: `v=spf1 include:${SPF_INCLUDE} ~all`,
  MX: `10 ${BOUNCE_HOST}`,
});

const txt = (purpose: RecordPurpose, host: string, expectedValue: string): NewDnsRecord => ({
  purpose,
  recordType: 'TXT',
  host,
  expectedValue,
});
