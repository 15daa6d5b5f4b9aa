import { expect, test } from 'vitest'
import { byteRangeOf, contentRangeOf } from '#routes/releases'

/** RFC 9110 §14. */

test.each([
  ['bytes=0-0', { from: 0, to: 1 }],
  ['bytes=0-99', { from: 0, to: 100 }],
  ['bytes=10-19', { from: 10, to: 20 }],
  ['bytes=10-', { from: 10, to: 100 }],
  ['bytes=99-', { from: 99, to: 100 }],
  ['bytes=90-1000', { from: 90, to: 100 }],
  ['bytes=-1', { from: 99, to: 100 }],
  ['bytes=-100', { from: 0, to: 100 }],
  ['bytes=-1000', { from: 0, to: 100 }],
  ['Bytes= 5-6 ', { from: 5, to: 7 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['', undefined],
  ['bytes=', undefined],
  ['bytes=-', undefined],
  ['bytes=2-1', undefined],
  ['bytes=0-1,4-5', undefined],
  ['bytes=a-b', undefined],
  ['bytes=1.5-2', undefined],
  ['bytes=0x1-2', undefined],
  ['items=0-1', undefined],
  [`bytes=${'9'.repeat(16)}-`, undefined],
])('%j of 100 bytes is parsed', (header, expected) => {
  expect(byteRangeOf(header, 100)).toEqual(expected)
})

test.each([
  ['bytes 0-0/1', { part: { from: 0, to: 1 }, size: 1 }],
  ['bytes 10-19/100', { part: { from: 10, to: 20 }, size: 100 }],
  ['bytes 90-99/100', { part: { from: 90, to: 100 }, size: 100 }],
  ['BYTES 0-9/100', { part: { from: 0, to: 10 }, size: 100 }],
  ['bytes */100', { part: null, size: 100 }],
  ['bytes 90-100/100', undefined],
  ['bytes 5-4/100', undefined],
  ['bytes 0-9/*', undefined],
  ['bytes */*', undefined],
  ['bytes=0-9/100', undefined],
  ['0-9/100', undefined],
  ['bytes 0-9', undefined],
  ['bytes -9/100', undefined],
  ['', undefined],
])('Content-Range %j is parsed', (header, expected) => {
  expect(contentRangeOf(header)).toEqual(expected)
})
