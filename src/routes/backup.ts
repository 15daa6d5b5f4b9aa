import { anonymous } from '#access/built-in-callers'
import * as api from '#api/backup'
import { type Binding, bind, type Call } from '#http/call'
import { covers } from '#model/grant-coverage'
import { Problem } from '#model/problem'
import { everything } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { mustBeLocal } from '#routes/local-request'
import { ReadSlices } from '#runtime/slices'

/** Creates backups, one at a time. `turns` lets other work run in between. */
export interface BackupMaker {
  make(
    request: { readonly user: string; readonly hasHistory: boolean },
    turns: Pick<ReadSlices, 'isOver' | 'next'>,
  ): AsyncIterable<Uint8Array>
}

/** Routes for backups of all data. Contract 8. */
export function backupRoutes({ world }: RouteContext, backups: BackupMaker): Binding[] {
  return [
    bind(api.readBackup, (call) => {
      mustHaveAll(call)
      const { caller, query } = call
      const request = { user: caller.user, hasHistory: query.history ?? true }
      return {
        status: 200,
        headers: { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' },
        chunks: backups.make(request, new ReadSlices(world, caller)),
      }
    }),
  ]
}

/**
 * A backup contains the key that signs sessions, and all hashes and second factors of every tenant, so its holder can
 * impersonate every user. Therefore only callers with all permissions get one. With authentication off every caller has
 * these, but the store may contain secrets from before; then only a request from this machine gets a backup.
 *
 * @throws Problem `forbidden`
 */
function mustHaveAll(call: Call): void {
  if (!covers(call.caller.scope, everything.grants)) throw new Problem('forbidden')
  if (call.caller === anonymous) mustBeLocal(call)
}
