import { Module } from '@nestjs/common';
import { DkimSigner } from './dkim/dkim-signer.js';
import { SigningKeyring } from './dkim/signing-keyring.js';
import { SendingDomainStandingQuery } from './sending-domains/sending-domain-standing.query.js';
import { SendingIdentityQuery } from './sending-domains/sending-identity.query.js';

/** Sending domains: their set-up, their checks, and as whom mail goes out. */
@Module({
  providers: [
    { provide: DkimSigner, useFactory: () => new DkimSigner() },
    SendingDomainStandingQuery,
    SendingIdentityQuery,
    SigningKeyring,
  ],
  exports: [DkimSigner, SendingDomainStandingQuery, SendingIdentityQuery, SigningKeyring],
})
export class DeliverabilityModule {}
