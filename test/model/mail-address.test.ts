import { describe, expect, test } from 'vitest'
import { domainOf, isMailable, senderOf } from '#model/mail-address'

const label = (length: number) => 'a'.repeat(length)
const longHost = [63, 63, 61].map(label).join('.')

test.each([
  ...['ann@example.com', 'ann@localhost', 'a@b', 'ann.b-c+d_e@sub.example.co.uk', "!#$%&'*+/=?^_`{|}~-@example.com"],
  ...['ANN@EXAMPLE.COM', 'ann@1and1.example', 'ann@xn--mnchen-3ya.example', 'ann@münchen.example'],
  ...['jürgen@münchen.example', '用户@例え.example', `${label(64)}@${longHost}`],
])('a mail address is accepted: %s', (address) => {
  expect(isMailable(address)).toBe(true)
})

describe('a mail address is refused', () => {
  test.each([
    // An incomplete address, several ones, and other forms of RFC 5322.
    ...['', 'ann', '@example.com', 'ann@', 'ann@example.com@example.org', 'ann@example.com,bob@example.com'],
    ...['ann@example.com;bob@example.com', 'ann,bob@example.com', 'all:ann@example.com;', '"ann"@example.com'],
    ...['"a@b"@example.com', '@relay.example:ann@example.com', 'host:ann@example.com', 'Ann <ann@example.com>'],
    ...['<ann@example.com>', 'a@b>,<c@d', 'ann(x)@example.com'],
    // White space and control characters.
    ...[' ann@example.com', 'ann@example.com ', 'an n@example.com', 'ann@example.com\r\nBcc: bob@example.com'],
    ...['ann@example.com\n', 'ann\0@example.com', 'ann@example.com\u2028', 'ann\u00a0b@example.com'],
    ...['ann\u200b@example.com', 'ann\ud800@example.com'],
    // The host.
    ...['ann@127.0.0.1', 'ann@[127.0.0.1]', 'ann@17', 'ann@example..com', 'ann@.example.com', 'ann@example.com.'],
    ...['ann@-example.com', 'ann@ex_ample.com', 'ann@example.com:25', 'ann@example.com/x', 'ann@example%2ecom'],
    ...['ann@example＠evil.com', 'ann@\u00ad', `ann@${label(64)}.example`],
    // The name.
    ...['.ann@example.com', 'ann.@example.com', 'an..n@example.com'],
    ...[`${label(65)}@example.com`, `${'ä'.repeat(33)}@example.com`, `${label(64)}@${longHost}a`],
  ])('%j', (address) => {
    expect(isMailable(address)).toBe(false)
  })

  test('in a short time', () => {
    expect(isMailable(`${label(10_000)}@example.com`)).toBe(false)
    expect(isMailable(`${'a.'.repeat(100_000)}@${'a.'.repeat(100_000)}`)).toBe(false)
  })
})

describe('a sender', () => {
  test.each([
    ['devices@example.com', { name: '', address: 'devices@example.com' }],
    ['Devices <devices@example.com>', { name: 'Devices', address: 'devices@example.com' }],
    ['Ärzte, "Dr." & Co. <d@localhost>', { name: 'Ärzte, "Dr." & Co.', address: 'd@localhost' }],
    ['<devices@example.com>', undefined],
    ['Devices <devices@example.com> x', undefined],
    ['Devices <"d"@example.com>', undefined],
    ['Devices\n <d@example.com>', undefined],
    ['d@example.com, e@example.com', undefined],
    ['Devices', undefined],
  ])('in %j is %j', (text, sender) => {
    expect(senderOf(text)).toEqual(sender)
  })

  test('has its host in ASCII', () => {
    expect(['a@Example.com', 'a@münchen.example'].map(domainOf)).toEqual(['example.com', 'xn--mnchen-3ya.example'])
  })
})
