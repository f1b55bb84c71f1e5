import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { AudiencePlan } from './audience-plan.query.js';
import { OptInMails } from './consents/consent.repository.js';

interface AudiencePorts {
  readonly plan?: Type<AudiencePlan>;
  readonly optInMails?: Type<OptInMails>;
}

/** Connects the ports of the audience to the contexts that know plans and send mail. */
@Global()
@Module({})
export class AudiencePortsModule {
  /** Takes services that these modules export: the contexts do not know each other. */
  static by(modules: Type[], { plan, optInMails }: AudiencePorts): DynamicModule {
    const ports = [
      { provide: AudiencePlan, useExisting: plan },
      { provide: OptInMails, useExisting: optInMails },
    ].filter(({ useExisting }) => useExisting !== undefined);
    const exported = ports.map(({ provide }) => provide);
    return { module: AudiencePortsModule, imports: modules, providers: ports, exports: exported };
  }
}
