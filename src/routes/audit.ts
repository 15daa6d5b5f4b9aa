import { type AuditRow, auditIndex, textOfEntry } from '#actors/tenant/log'
import * as api from '#api/audit'
import { type Binding, bind } from '#http/call'
import { foldName } from '#model/user'
import type { RouteContext } from '#routes/context'
import { logReply } from '#routes/log-reply'

/** Route for the audit. Contract 12. */
export function auditRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.listAudit, async (call) => {
      // Refused requests are answered before their entries are stored.
      if (context.system.gate.isOpen) await context.system.gate.whenStored()
      return logReply(context, call, auditIndex, {
        isShown: isOf(call.query.user),
        textOf: textOfEntry,
      })
    }),
  ]
}

/** @param asked a CRN or a name */
function isOf(asked: string | undefined): (entry: string) => boolean {
  if (asked === undefined) return () => true
  const folded = foldName(asked)
  return (entry) => {
    const { user, name }: AuditRow = JSON.parse(textOfEntry(entry))
    return user === asked || foldName(name) === folded
  }
}
