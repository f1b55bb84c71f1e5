import { Module } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import { ReturnPaths, UnsubscribeAddresses } from './return-path.js';

/** The addresses of this installation's mails, for who sends mail and for who takes in what comes back. */
@Module({
  providers: [
    {
      provide: ReturnPaths,
      inject: [CONFIG],
      useFactory: (config: Config) => new ReturnPaths(config.TOKEN_SECRET),
    },
    {
      provide: UnsubscribeAddresses,
      inject: [CONFIG],
      useFactory: (config: Config) => new UnsubscribeAddresses(config.TOKEN_SECRET),
    },
  ],
  exports: [ReturnPaths, UnsubscribeAddresses],
})
export class ReturnPathsModule {}
