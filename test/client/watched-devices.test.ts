import { expect, test } from 'vitest'
import { Fleet } from '#client/fleet'
import { DeviceIdentifier } from '#model/identifier'

test.each([
  'A',
  "'|Q-7",
  'A B',
  '!;X',
  'PUMP=7-',
  'not_one',
  'NOT_ONE',
  '',
  '#AB',
  'A%B',
  '*',
  'PUMP 7',
  'Ä',
  'A'.repeat(64),
  'A'.repeat(65),
])('the client accepts %j exactly if it is a device identifier in upper case', (text) => {
  const fleet = new Fleet((task) => task())
  fleet.devices.subscribeKey(text, () => {})
  const { data } = DeviceIdentifier.safeParse(text)
  expect(fleet.watched()).toEqual(data === text ? [text] : [])
  expect(fleet.has(text)).toBe(true)
})
