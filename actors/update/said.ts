import type { FirmwareSaid, NoUpdateFound, OfferLost, UpdateFound } from '#actors/update/commands'
import type { UpdateEvent } from '#actors/update/events'
import { decideMove, type UpdateParts } from '#actors/update/move'
import type { UpdateActorState } from '#actors/update/state'
import type { Entry } from '#model/entry'
import { updateMessageCharactersMax } from '#model/firmware'
import { answer, type Decision, type Turn } from '#runtime/actor'

const whyNot = { none: 'NONE', busy: 'SERVER_BUSY', failed: 'SERVER_FAILED', fault: 'OUR_FAULT' } as const

/**
 * Handles reports of the update server, the device or its link about one update. Reports with another id are ignored.
 */
export function decideSaid(
  actor: UpdateActorState,
  command: UpdateFound | NoUpdateFound | FirmwareSaid | OfferLost,
  turn: Turn,
  parts: UpdateParts,
): Decision<Entry> {
  if (command.id !== actor.stored?.context.id) return answer(undefined)
  const moment = { now: turn.now, offerUntil: turn.now + parts.offerTimeoutMs }
  return decideMove(actor, [{ ...eventOf(command), ...moment } as UpdateEvent], turn, parts)
}

function eventOf(
  command: UpdateFound | NoUpdateFound | FirmwareSaid | OfferLost,
): Omit<UpdateEvent, 'now' | 'offerUntil'> {
  switch (command.type) {
    case 'found': {
      const { index, from, offer, rest } = command
      return { type: 'FOUND', found: { index, from, offer, rest } }
    }
    case 'not_found':
      return { type: whyNot[command.why], message: cut(command.message) }
    case 'said':
      return { type: command.status, progress: command.progress, message: cut(command.message) }
    case 'lost':
      return { type: 'LOST' }
  }
}

/** Cuts between characters; undefined for an empty text. */
function cut(words: string | undefined): string | undefined {
  if (!words || words.length <= updateMessageCharactersMax) return words || undefined
  const start = words.slice(0, updateMessageCharactersMax)
  return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start
}
