import { describe, expect, test } from 'vitest'
import { defaultUpdateOptions, type UpdateOptions } from '#firmware/options'
import { isApplicable } from '#firmware/update-starter'
import type { Trigger } from '#model/firmware'

/**
 * Whether a trigger updates each of four devices: one that accepts automatic updates, without a pin and with one, and
 * one that refuses them, without a pin and with one.
 */
type Row = readonly [boolean, boolean, boolean, boolean]

const yes: Row = [true, true, true, true]
const accepting: Row = [true, true, false, false]
const pinned: Row = [false, true, false, false]
const no: Row = [false, false, false, false]

const table: readonly [string, Partial<UpdateOptions>, Readonly<Record<Trigger, Row>>][] = [
  ['no option', {}, { connect: accepting, cron: accepting, hook: accepting, post: yes }],
  [
    'no update on connect',
    { isConnectUpdateDisabled: true },
    { connect: no, cron: accepting, hook: accepting, post: yes },
  ],
  [
    'the hook for pins only',
    { isHookForPinsOnly: true },
    { connect: accepting, cron: accepting, hook: pinned, post: yes },
  ],
  [
    'both',
    { isConnectUpdateDisabled: true, isHookForPinsOnly: true },
    { connect: no, cron: accepting, hook: pinned, post: yes },
  ],
]

describe.each(table)('with %s', (_, options, rows) => {
  test.each(Object.entries(rows) as [Trigger, Row][])('%s updates the expected devices', (trigger, expected) => {
    const set = { ...defaultUpdateOptions, ...options }
    const found = [true, false].flatMap((isAutoUpdated) =>
      [false, true].map((isPinned) => isApplicable(trigger, set, isAutoUpdated, isPinned)),
    )
    expect(found).toEqual(expected)
  })
})
