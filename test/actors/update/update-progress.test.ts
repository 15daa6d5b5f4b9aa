import { describe, expect, test } from 'vitest'
import {
  checkingMsMax,
  downloadMsMax,
  downloadSilenceMsMax,
  installingMsMax,
  installingSilenceMsMax,
  rebootingMsMax,
  resendsMax,
  startedMsMax,
  verifyingMsMax,
} from '#actors/update/machine'
import { indexChangesOf, now } from '#test/actors/acting-actor'
import { ActingUpdate, begin, foundOf, offerTimeoutMs, updateEventsOf } from '#test/actors/update/acting-update'

describe('a deadline', () => {
  const checking = () => {
    const acting = new ActingUpdate()
    acting.begins()
    return acting
  }
  const verifying = () => {
    const acting = ActingUpdate.after('STARTED')
    acting.reports('DOWNLOADING', { progress: 100 })
    return acting
  }
  const offering = () => ActingUpdate.offering()
  const downloading = () => ActingUpdate.after('DOWNLOADING')
  const installing = () => ActingUpdate.after('INSTALLING')

  test.each<readonly [string, () => ActingUpdate, number, string]>([
    ['checking', checking, checkingMsMax, 'UPDATE_SERVER_ERROR: the update server did not answer in time'],
    ['offering', offering, offerTimeoutMs, 'DEVICE_OFFLINE: the device did not answer in time'],
    ['started', () => ActingUpdate.after('STARTED'), startedMsMax, 'the device did not begin to download in time'],
    ['downloading', downloading, downloadSilenceMsMax, 'the device did not download the firmware in time'],
    ['verifying', verifying, verifyingMsMax, 'the device did not verify the firmware in time'],
    ['installing', installing, installingSilenceMsMax, 'the device did not install the firmware in time'],
    ['rebooting', () => ActingUpdate.after('INSTALLED'), rebootingMsMax, 'the device did not come back'],
  ])('of %s ends the update in its exact millisecond', (state, reach, ms, message) => {
    const acting = reach()
    expect([acting.updateState, acting.reminder]).toEqual([state, now + ms])
    acting.at = now + ms - 1
    // The reminder comes too early, as after the clock was set back, and is set again.
    acting.due()
    expect([acting.updateState, acting.reminder]).toEqual([state, now + ms])
    acting.at = now + ms
    acting.due()
    expect([acting.updateState, acting.stored.context.message]).toEqual(['failed', message])
  })

  test('does not exist after the end of an update', () => {
    const acting = ActingUpdate.after('INSTALLED')
    acting.reconnects('2.0.0', 't')
    expect([acting.updateState, acting.reminder, acting.due().type]).toEqual(['done', null, 'answer'])
    expect(new ActingUpdate().due().type).toBe('answer')
  })

  test.each([
    ['a download', 'DOWNLOADING', downloadSilenceMsMax, downloadMsMax],
    ['an installation', 'INSTALLING', installingSilenceMsMax, installingMsMax],
  ] as const)('of %s is extended by reports, but not beyond a day', (_, status, silenceMsMax, msMax) => {
    const acting = ActingUpdate.after(status)
    const stepMs = silenceMsMax - 1
    for (let at = now + stepMs; at < now + msMax; at += stepMs) {
      acting.at = at
      acting.reports(status, { progress: 1 })
      expect(acting.reminder).toBe(Math.min(at + silenceMsMax, now + msMax))
    }
    acting.at = now + msMax
    acting.due()
    expect(acting.updateState).toBe('failed')
    // Reports no longer extend the deadline, but a late success counts.
    expect(acting.reports(status, { progress: 2 }).type).toBe('answer')
    acting.reconnects('2.0.0', 't')
    expect(acting.updateState).toBe('done')
  })

  test.each(['DOWNLOADING', 'INSTALLING'] as const)(
    'that is at most a day is not extended after a silence: %s',
    (status) => {
      const acting = ActingUpdate.after(status)
      acting.at = acting.reminder ?? 0
      acting.due()
      expect(acting.updateState).toBe('failed')
      acting.at = now + downloadMsMax - 1
      acting.reports(status)
      expect(acting.reminder).toBe(now + downloadMsMax)
    },
  )

  test('that is at most a day begins again when the device restarts', () => {
    const acting = ActingUpdate.after('INSTALLING')
    acting.at += 1_000
    acting.reconnects('1.0.0', 't')
    acting.at += 1_000
    acting.reports('INSTALLING')
    expect(acting.stored.context.installsUntil).toBe(acting.at + installingMsMax)
  })
})

describe('progress', () => {
  test.each([
    [999, 4.9, false],
    [1_000, 0.1, true],
    [1_000, 0, true],
    [0, 5, true],
    [0, 4.9, false],
    [-1, 0, true],
  ])('that is %i ms later and %d percent higher is published: %s', (ms, percent, isPublished) => {
    for (const status of ['DOWNLOADING', 'INSTALLING'] as const) {
      const acting = ActingUpdate.offering()
      acting.reports(status, { progress: 10 })
      const { context } = acting.stored
      acting.at += ms
      const decision = acting.reports(status, { progress: 10 + percent })
      if (isPublished) expect(updateEventsOf(decision)).toEqual([`${status} 2.0.0 ${10 + percent}%`])
      else expect([decision.type, acting.stored.context]).toEqual(['answer', context])
    }
  })

  test('is compared with the last published progress', () => {
    const acting = ActingUpdate.after('STARTED')
    const received = Array.from({ length: 100 }, (_, percent) => acting.reports('DOWNLOADING', { progress: percent }))
    const expected = Array.from({ length: 20 }, (_, place) => `DOWNLOADING 2.0.0 ${place * 5}%`)
    expect(received.flatMap(updateEventsOf)).toEqual(expected)
  })
})

describe('a device that restarts during its update', () => {
  test('is offered the firmware again under the same id, three times at most', () => {
    const acting = ActingUpdate.after('STARTED')
    for (let count = 1; count <= resendsMax; count++) {
      acting.reports('DOWNLOADING', { progress: 20 })
      acting.at += 1_000
      expect(updateEventsOf(acting.reconnects('1.0.0', `s${count}`))).toEqual(['STARTED 2.0.0'])
      expect(acting.received).toEqual(['offer A J 2.0.0'])
      expect(acting.stored.context).toMatchObject({ session: `s${count}`, resends: count })
      expect(acting.reminder).toBe(acting.at + startedMsMax)
    }
    expect(updateEventsOf(acting.reconnects('1.0.0', 'last'))).toEqual(['FAILED 2.0.0 the device restarted too often'])
    expect(acting.received).toEqual([])
  })

  test('and has only started, is offered the firmware again without an event', () => {
    const acting = ActingUpdate.after('STARTED')
    acting.at += 5_000
    expect(updateEventsOf(acting.reconnects('1.0.0', 't'))).toEqual([])
    expect([acting.received, acting.reminder]).toEqual([['offer A J 2.0.0'], acting.at + startedMsMax])
  })

  test('and has not answered yet, has the full time for the answer again', () => {
    for (const firmware of ['1.0.0', undefined]) {
      const acting = ActingUpdate.offering()
      acting.at += 5_000
      expect(updateEventsOf(acting.reconnects(firmware, 't'))).toEqual([])
      expect([acting.received, acting.reminder]).toEqual([['offer A J 2.0.0'], acting.at + offerTimeoutMs])
      expect(acting.stored.context.session).toBe('t')
    }
  })

  test('repeatedly without an answer, has the full time again three times, and then the update fails', () => {
    const acting = ActingUpdate.offering()
    for (let count = 1; count <= resendsMax; count++) {
      acting.at += 5_000
      acting.reconnects('1.0.0', `s${count}`)
      expect(acting.reminder).toBe(acting.at + offerTimeoutMs)
    }
    const until = acting.reminder
    acting.at += 5_000
    acting.clearNotices()
    expect(updateEventsOf(acting.reconnects('1.0.0', 'last'))).toEqual([])
    expect([acting.received, acting.reminder]).toEqual([['offer A J 2.0.0'], until])
    acting.at += 5_000
    expect(updateEventsOf(acting.due())).toEqual(['FAILED 2.0.0 DEVICE_OFFLINE: the device did not answer in time'])
  })

  test('before its answer, is offered the firmware again as often as any other device afterwards', () => {
    const acting = ActingUpdate.offering()
    for (let count = 1; count <= resendsMax; count++) acting.reconnects('1.0.0', `s${count}`)
    acting.reports('STARTED')
    acting.reconnects('1.0.0', 'later')
    expect([acting.updateState, acting.stored.context.resends]).toEqual(['started', 1])
  })

  test('during the request to the update server, is not counted as a later restart', () => {
    const acting = new ActingUpdate()
    acting.begins()
    acting.reconnects('1.0.0', 't')
    acting.act({ type: 'found', id: 'J', ...foundOf() })
    acting.reports('INSTALLED')
    acting.reconnects('1.0.0', 't')
    expect(acting.updateState).toBe('rebooting')
  })
})

describe('several firmwares', () => {
  const firmwares = [
    { firmware: '3.0.0', index: 4 },
    { firmware: '1.0.0', index: 0 },
    { firmware: '2.0.0', index: 2 },
  ]

  test('are requested in the order of their index', () => {
    const acting = new ActingUpdate()
    acting.begins({ firmwares })
    expect(acting.stored.context).toMatchObject({ index: 0, from: '1.0.0', rest: [2, 4] })
  })

  test('are requested after the one before is done, but not after it failed', () => {
    for (const by of ['post', 'hook'] as const) {
      const acting = new ActingUpdate()
      acting.begins({ by, firmwares, found: foundOf({ index: 2, firmware: '2.1.0' }, [4]) })
      acting.clearNotices()
      acting.act({ type: 'reconnected', session: 't', firmwares: [{ firmware: '2.1.0', index: 0 }] })
      expect(acting.updateState).not.toBe('done')
      acting.act({ type: 'reconnected', session: 't', firmwares: [{ firmware: '2.1.0', index: 2 }] })
      expect(acting.updateState).toBe('done')
      expect(acting.received.filter((line) => line.startsWith('next'))).toEqual([`next A ${by} 4`])
    }
    const failing = ActingUpdate.offering({ found: foundOf({}, [4]) })
    failing.reports('FAILED')
    expect(failing.received.filter((line) => line.startsWith('next'))).toEqual([])
  })
})

describe('a new process', () => {
  const has = (firmware: string) => ({ type: 'resume', firmwares: [{ firmware, index: 0 }] }) as const

  test.each([['STARTED'], ['DOWNLOADING'], ['INSTALLING'], ['INSTALLED']] as const)(
    'finishes an update in %s if the device has the new version, and otherwise waits',
    (status) => {
      const acting = ActingUpdate.after(status)
      const { updateState, reminder } = acting
      for (const other of ['1.0.0', '1.5.0']) expect(acting.act(has(other)).type).toBe('answer')
      expect([acting.updateState, acting.reminder, acting.received]).toEqual([updateState, reminder, []])
      expect(updateEventsOf(acting.act(has('2.0.0')))).toEqual(['DONE 2.0.0'])
    },
  )

  test('asks the update server again, and repeats no offer before the device connects', () => {
    const asking = new ActingUpdate()
    asking.begins()
    asking.clearNotices()
    asking.record(has('1.0.0'))
    expect([asking.updateState, asking.received]).toEqual(['checking', ['ask A J']])
    const offering = ActingUpdate.offering()
    expect([offering.act(has('1.0.0')).type, offering.received]).toEqual(['answer', []])
    expect(new ActingUpdate().act(has('1.0.0')).type).toBe('answer')
  })
})

test('an active update is in the index until it ends', () => {
  const acting = new ActingUpdate()
  expect(indexChangesOf(acting.act(begin({ firmwares: [] })))).toEqual(['+updating/A'])
  expect(indexChangesOf(acting.act({ type: 'found', id: 'J', ...foundOf() }))).toEqual([])
  expect(indexChangesOf(acting.reports('NOT_OK'))).toEqual(['-updating/A'])
  expect(indexChangesOf(acting.act(begin({ firmwares: [], id: 'K' })))).toEqual(['+updating/A'])
  expect(indexChangesOf(acting.record({ type: 'forget' }))).toEqual(['-updating/A'])
  expect([acting.records.size, acting.reminder, acting.state.stored]).toEqual([0, null, undefined])
  expect(acting.act({ type: 'forget' }).type).toBe('answer')
})
