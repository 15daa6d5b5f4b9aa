import type { WriteOutcome } from '#link/open-writes'
import type { DeviceOutcome } from '#model/action'
import type { Problem, ProblemDetail } from '#model/problem'

/** Of one message of a device, and of all of a device: a fleet may have a hundred thousand of them to say. */
const messageCharactersMax = 128
const messagesCharactersMax = 1_024

/** What a device said. Property by property only where it did not do all. */
export function outcomeOfWrite({ updates }: WriteOutcome): DeviceOutcome {
  if (updates.every(({ status }) => status === 'OK')) return { status: 'OK' }
  let left = messagesCharactersMax
  const shown = updates.map(({ propId, status, message = '' }) => {
    const cut = message.slice(0, Math.min(messageCharactersMax, left)).toWellFormed()
    left -= cut.length
    // A device is asked to wait for, and so never merely sent to.
    return { propId, status: status === 'OK' ? ('OK' as const) : ('REJECTED' as const), ...(cut && { message: cut }) }
  })
  return { status: 'REJECTED', updates: shown }
}

/** Why a device was not asked, or did not answer. Undefined: not now, so it is asked later. */
export function outcomeOfRefusal(problem: Problem): DeviceOutcome | undefined {
  switch (problem.code) {
    case 'device_offline':
      return { status: 'DEVICE_OFFLINE' }
    case 'device_timeout':
      return { status: 'DEVICE_TIMEOUT' }
    case 'not_found':
      return { status: 'NOT_FOUND' }
    case 'overloaded':
    case 'too_many_requests':
    case 'storage':
    case 'stopping':
      return undefined
    case 'invalid':
      return { status: 'INVALID', details: (problem.details ?? []).map(cutDetail) }
    default:
      return { status: 'INVALID', details: [cutDetail({ path: 'updates', message: problem.message })] }
  }
}

function cutDetail({ path, message }: ProblemDetail): ProblemDetail {
  return { path: path.slice(0, messageCharactersMax).toWellFormed(), message }
}
