import {
  type AuditRow,
  auditIndex,
  placeAfter,
  placeOfEntry,
  placeOfTime,
  textOfEntry,
  timeOfEntry,
} from '#actors/tenant/state'
import * as api from '#api/audit'
import { nameOfCursor } from '#api/fields'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import { foldName } from '#model/user'
import type { RouteContext } from '#routes/context'
import { timeOf } from '#routes/history'
import { type ListOf, listReply } from '#routes/replies'
import type { Pages } from '#runtime/storage'

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

/** The entries of a log of the caller's tenant, newest first: all, or one page. */
export function logReply(
  context: RouteContext,
  call: Call<unknown, api.LogQuery>,
  index: string,
  list: Pick<ListOf, 'isShown' | 'textOf'>,
): Promise<Reply> {
  const { from, to, cursor } = call.query
  const now = context.world.now()
  const [begin, end] = [from && timeOf(from, now), to && timeOf(to, now)]
  if (begin !== undefined && end !== undefined && begin >= end) {
    throw new Problem('invalid', undefined, { details: [{ message: 'must be before to', path: 'from' }] })
  }
  const place = cursor === undefined ? '' : placeAfter(nameOfCursor(cursor))
  const first = end === undefined ? '' : placeOfTime(end)
  const entries = context.listing.entries(index, call.caller.tenant, '', place > first ? place : first)
  const names = begin === undefined ? entries : until(entries, (entry) => timeOfEntry(entry) < begin)
  return listReply(context, call, { names, placeOf: placeOfEntry, ...list })
}

/** The names before the first one for which `isOver` is true. */
function until(names: Pages, isOver: (name: string) => boolean): Pages {
  let hasEnded = false
  return {
    next: async (countMax) => {
      const page = hasEnded ? [] : await names.next(countMax)
      const end = page.findIndex(isOver)
      hasEnded = end >= 0
      return hasEnded ? page.slice(0, end) : page
    },
    close: () => names.close(),
  }
}
