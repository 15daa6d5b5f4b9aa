import { expect, test } from 'vitest'
import { type Coding, chooseCoding } from '#routes/pages/page-files'

const all = () => true
const none = () => false

test.each<[header: string, chosen: Coding]>([
  ['', 'identity'],
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP;q=1.0, BR;q=0.1', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.0,gzip;q=0', 'identity'],
  ['*', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*;q=0', 'identity'],
  ['identity;q=0', 'identity'],
  ['br;q=x', 'identity'],
  ['deflate', 'identity'],
  [' , ;q=1', 'identity'],
])('%j selects %s', (header, chosen) => {
  expect(chooseCoding(header, all)).toBe(chosen)
  expect(chooseCoding(header, none)).toBe('identity')
})

test('a missing file is not selected', () => {
  expect(chooseCoding('br, gzip', (coding) => coding !== 'br')).toBe('gzip')
})
