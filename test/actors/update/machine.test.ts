import { describe, expect, test } from 'vitest'
import { isRunning, noUpdate } from '#actors/update/machine'
import { type UpdateContext, type UpdateEvent, type UpdateEventType, updateEventTypes } from '#actors/update/state'
import { nextStep } from '#actors/update/transition'
import { type UpdateState, updateStates } from '#model/firmware'
import { foundOf, offerOf } from '#test/actors/update/acting-update'

const now = 5_000_000
const context: UpdateContext = { ...noUpdate, id: 'J', from: '1.0.0', offer: offerOf(), session: 's', deadline: now }

type EventName = UpdateEventType | 'WHOLE' | 'BACK_target' | 'BACK_old' | 'BACK_anew' | 'BACK_other' | 'BACK_silent'

function eventOf(name: EventName): UpdateEvent {
  const back = (reported: string | undefined, session = 's') => ({ type: 'BACK' as const, reported, session })
  const fields = () => {
    switch (name) {
      case 'WHOLE':
        return { type: 'DOWNLOADING' as const, progress: 100 }
      case 'BACK_target':
        return back('2.0.0', 't')
      case 'BACK_old':
        return back('1.0.0')
      case 'BACK_anew':
        return back('1.0.0', 't')
      case 'BACK_other':
        return back('1.5.0', 't')
      case 'BACK_silent':
        return back(undefined, 't')
      case 'BEGIN':
        return { type: name, begun: { ...context, id: 'K', offer: null } }
      case 'FOUND':
        return { type: name, found: foundOf() }
      default:
        return { type: name }
    }
  }
  return { now, offerUntil: now + 10_000, ...fields() } as UpdateEvent
}

/**
 * The next state for each event in each state. `·` means that nothing changes, `=` the same state with an action. An
 * update in `failed` was reported by the device as failed. An update in `late` failed because it timed out.
 */
const cells = `
                idle     checking offering    started     downloading verifying  installing rebooting done     failed   late        refused
BEGIN           checking ·        ·           ·           ·           ·          ·          ·         checking checking checking    checking
FOUND           ·        offering ·           ·           ·           ·          ·          ·         ·        ·        ·           ·
NONE            ·        idle     ·           ·           ·           ·          ·          ·         ·        ·        ·           ·
SERVER_BUSY     ·        failed   ·           ·           ·           ·          ·          ·         ·        ·        ·           ·
SERVER_FAILED   ·        failed   ·           ·           ·           ·          ·          ·         ·        ·        ·           ·
OUR_FAULT       ·        failed   failed      ·           ·           ·          ·          ·         ·        ·        ·           ·
STARTED         ·        ·        started     ·           ·           ·          ·          ·         ·        ·        started     ·
DOWNLOADING     ·        ·        downloading downloading =           ·          ·          ·         ·        ·        downloading ·
WHOLE           ·        ·        verifying   verifying   verifying   ·          ·          ·         ·        ·        verifying   ·
INSTALLING      ·        ·        installing  installing  installing  installing =          ·         ·        ·        installing  ·
INSTALLED       ·        ·        rebooting   rebooting   rebooting   rebooting  rebooting  ·         ·        ·        rebooting   ·
NOT_OK          ·        ·        refused     failed      failed      ·          ·          ·         ·        ·        ·           ·
FAILED          ·        ·        failed      failed      failed      failed     failed     failed    ·        ·        ·           ·
LOST            ·        ·        failed      ·           ·           ·          ·          ·         ·        ·        ·           ·
DUE             ·        failed   failed      failed      failed      failed     failed     failed    ·        ·        ·           ·
BACK_target     ·        =        done        done        done        done       done       done      ·        done     done        ·
BACK_old        ·        =        =           ·           ·           ·          ·          ·         ·        ·        ·           ·
BACK_anew       ·        =        =           =           started     started    started    failed    failed   ·        ·           ·
BACK_other      ·        =        failed      failed      failed      failed     failed     failed    failed   ·        ·           ·
BACK_silent     ·        =        =           ·           ·           ·          ·          ·         ·        ·        ·           ·
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/))

const [columns = [], ...rows] = cells
const table = rows.flatMap(([event = '', ...targets]) =>
  columns.map((column, place) => [column, event as EventName, targets[place] ?? ''] as const),
)

test.each(table)('in state %s, event %s leads to %s', (column, name, target) => {
  const state = (column === 'late' ? 'failed' : column) as UpdateState
  const reason = column === 'late' ? 'timeout' : column === 'failed' ? 'device' : null
  const offer = state === 'checking' || state === 'idle' ? null : context.offer
  const step = nextStep(state, { ...context, offer, reason, deadline: isRunning(state) ? now : null }, eventOf(name))
  if (target === '·') expect(step).toBeUndefined()
  else expect(step?.state).toBe(target === '=' ? state : target)
})

test('the table covers every state and every event', () => {
  expect(new Set(columns)).toEqual(new Set([...updateStates, 'late']))
  const types = new Set(rows.map(([event = '']) => event.replace(/^BACK.*/, 'BACK')))
  expect(types).toEqual(new Set([...updateEventTypes, 'WHOLE']))
})

describe('events that do not concern an update are ignored', () => {
  test('such as a deadline that has not passed', () => {
    for (const state of updateStates)
      expect(nextStep(state, { ...context, deadline: now + 1 }, eventOf('DUE'))).toBeUndefined()
  })

  test('such as a version or a start after an update that failed before its offer', () => {
    expect(nextStep('failed', { ...context, offer: null, reason: 'server' }, eventOf('BACK_target'))).toBeUndefined()
    expect(nextStep('failed', { ...context, offer: null, reason: 'timeout' }, eventOf('STARTED'))).toBeUndefined()
  })
})

test.each([
  ['2.0.0', '2.0.0', '1.0.0', 'done'],
  ['2.0.0+b', '2.0.0+a', '1.0.0', 'done'],
  ['2.0.0+a', '2.0.0+b', '2.0.0+a', 'installing'],
  ['2.0.0+b', '2.0.0+b', '2.0.0+a', 'done'],
  ['2.0.0-rc.1', '2.0.0', '1.0.0', 'failed'],
  ['0.9.0', '0.9.0', '1.0.0', 'done'],
])(
  'if the device reports %s, with the target %s and %s before the update, the update is %s',
  (reported, firmware, from, state) => {
    const event = { ...eventOf('BACK_old'), reported } as UpdateEvent
    const step = nextStep('installing', { ...context, from, offer: offerOf({ firmware }) }, event)
    expect(step?.state ?? 'installing').toBe(state)
  },
)

test('the active states are in the order of an update', () => {
  const running = ['checking', 'offering', 'started', 'downloading', 'verifying', 'installing', 'rebooting']
  expect(updateStates.filter(isRunning)).toEqual(running)
})
