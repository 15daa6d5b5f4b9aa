import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DevicesRead } from '#bench/load/devices-read'

const properties = 3
const devices = 4

function deviceText(place: number, values: readonly number[]): string {
  const named = values.map((value, index) => `"0x200${index}.float":${value}`)
  const service = `{"serviceIdentifier":"s","properties":{${named.join(',')}}}`
  return `{"deviceIdentifier":"LOAD-000000${place}","services":[${service}]}`
}

/** A frame of this number. */
const frameOf = (number: number) => [number + 2, number + 1, number].map((each) => each / 100)

const frames = [5, 0, 70, 12_345]
const right = frames.map((number, place) => deviceText(place, frameOf(number)))
const answer = (texts: readonly string[]) => `[${texts.join(',')}]`

function read(pieces: readonly string[], acknowledged: readonly number[] = frames): number {
  const numbers = Float64Array.from(acknowledged)
  const reading = new DevicesRead({ options: { devices, prefix: 'LOAD', properties }, numbers })
  for (const piece of pieces) reading.push(piece)
  reading.end()
  return reading.devices
}

test('a right answer is right, however it is cut', () => {
  const text = answer(right)
  fc.assert(
    fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 9 }), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length]
      expect(read(places.slice(1).map((end, index) => text.slice(places[index], end)))).toBe(devices)
    }),
  )
})

test('what is newer than acknowledged is right: it was on its way', () => {
  expect(read([answer(right)], [4, -1, 70, 12_000])).toBe(devices)
})

describe('it is not right when', () => {
  const [first, second, third, fourth] = right as [string, string, string, string]
  test.each([
    ['nothing is there', '[]', /shows 0 of 4/],
    ['the last device is missing', answer([first, second, third]), /shows 3 of 4/],
    ['one is missing', answer([first, third, fourth]), /LOAD-0000002 stands where LOAD-0000001/],
    ['one is there twice', answer([first, second, second, third, fourth]), /LOAD-0000001 stands where LOAD-0000002/],
    ['there is one too many', answer([...right, deviceText(4, frameOf(0))]), /shows 5 of 4/],
    ['it breaks off between two', `[${first},${second}`, /broke off/],
    ['it breaks off in the last one', answer(right).slice(0, -10), /broke off/],
    ['it ends without its end', answer(right).slice(0, -1), /JSON|shows|broke off/],
    [
      'an acknowledged frame is not there',
      answer([first, second, deviceText(2, frameOf(69)), fourth]),
      /shows frame 69; 70/,
    ],
    ['a value is missing', answer([first, second, third, deviceText(3, frameOf(12_345).slice(1))]), /shows 2 values/],
    [
      'a frame is there in parts',
      answer([first, second, deviceText(2, [0.73, 0.72, 0.7]), fourth]),
      /parts of several frames/,
    ],
    [
      'a device has nothing',
      answer([first, second, '{"deviceIdentifier":"LOAD-0000002","services":[]}', fourth]),
      /0 values/,
    ],
  ])('%s', (_, text, message) => {
    expect(() => read([text])).toThrow(message)
  })
})
