import { Module } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import { ReturnPaths } from './return-path.js';

/** The return paths of this installation, for who sends mail and for who takes back what could not be delivered. */
@Module({
  providers: [
    {
      provide: ReturnPaths,
      inject: [CONFIG],
      useFactory: (config: Config) => new ReturnPaths(config.TOKEN_SECRET),
    },
  ],
  exports: [ReturnPaths],
})
export class ReturnPathsModule {}
