import { anonymous } from '#access/anonymous'
import * as api from '#api/backup'
import { type Binding, bind, type Call } from '#http/call'
import { covers } from '#model/grant-coverage'
import { Problem } from '#model/problem'
import { everything } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { mustBeFromHere } from '#routes/from-here'
import { ReadSlices } from '#routes/read-slices'

/** Makes backups, one at a time; `turns` divides the work. */
export interface BackupMaker {
  make(user: string, turns: Pick<ReadSlices, 'isOver' | 'next'>): AsyncIterable<Uint8Array>
}

/** Who hands out everything there is. Contract 8. */
export function backupRoutes({ world }: RouteContext, backups: BackupMaker): Binding[] {
  return [
    bind(api.readBackup, (call) => {
      mayHaveAll(call)
      const { caller } = call
      return {
        status: 200,
        headers: { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' },
        chunks: backups.make(caller.user, new ReadSlices(world, caller)),
      }
    }),
  ]
}

/**
 * Who holds a backup holds the key that sessions are made with, all hashes and all second factors, of every tenant: he can
 * be anybody. So nobody gets one who may not do everything anyway. Where nobody signs in that is everybody; what was stored
 * while somebody had to is in it all the same, so it does not leave the machine that way.
 *
 * @throws Problem `forbidden`
 */
function mayHaveAll(call: Call): void {
  if (!covers(call.caller.scope, everything.grants)) throw new Problem('forbidden')
  if (call.caller === anonymous) mustBeFromHere(call)
}
