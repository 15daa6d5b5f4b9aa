import { describe, expect, test } from 'vitest'
import { domainOf, isMailable, senderOf } from '#model/mail-address'

const label = (length: number) => 'a'.repeat(length)
const longHost = [63, 63, 61].map(label).join('.')

describe('a mail address is accepted', () => {
  test.each([
    'ann@example.com',
    'ann@localhost',
    'a@b',
    'ann.b-c+d_e@sub.example.co.uk',
    "!#$%&'*+/=?^_`{|}~-@example.com",
    'ANN@EXAMPLE.COM',
    'ann@1and1.example',
    'ann@xn--mnchen-3ya.example',
    'ann@münchen.example',
    'jürgen@münchen.example',
    '用户@例え.example',
    `${label(64)}@${longHost}`,
  ])('%s', (address) => {
    expect(isMailable(address)).toBe(true)
  })
})

describe('a mail address is refused', () => {
  test.each([
    ['nothing', ''],
    ['without an address', 'ann'],
    ['without a name', '@example.com'],
    ['without a host', 'ann@'],
    ['two', 'ann@example.com@example.org'],
    ['a list', 'ann@example.com,bob@example.com'],
    ['a list with a semicolon', 'ann@example.com;bob@example.com'],
    ['a list in the name', 'ann,bob@example.com'],
    ['a group', 'all:ann@example.com;'],
    ['a quoted name', '"ann"@example.com'],
    ['a quoted name with an at', '"a@b"@example.com'],
    ['a route', '@relay.example:ann@example.com'],
    ['a percent route is a valid name, but a UUCP route with a colon is not', 'host:ann@example.com'],
    ['a display name', 'Ann <ann@example.com>'],
    ['angle brackets', '<ann@example.com>'],
    ['text after a bracket', 'a@b>,<c@d'],
    ['a comment', 'ann(x)@example.com'],
    ['a space at the start', ' ann@example.com'],
    ['a space at the end', 'ann@example.com '],
    ['a space inside', 'an n@example.com'],
    ['a line break', 'ann@example.com\r\nBcc: bob@example.com'],
    ['a line break alone', 'ann@example.com\n'],
    ['a zero', 'ann\0@example.com'],
    ['a line separator', 'ann@example.com\u2028'],
    ['a no-break space', 'ann\u00a0b@example.com'],
    ['a zero-width space', 'ann\u200b@example.com'],
    ['a lone surrogate', 'ann\ud800@example.com'],
    ['an IP address', 'ann@127.0.0.1'],
    ['an IP address in brackets', 'ann@[127.0.0.1]'],
    ['a number as host', 'ann@17'],
    ['a dot at the start', '.ann@example.com'],
    ['a dot at the end', 'ann.@example.com'],
    ['two dots', 'an..n@example.com'],
    ['a host with two dots', 'ann@example..com'],
    ['a host with a dot in front', 'ann@.example.com'],
    ['a host with a dot behind', 'ann@example.com.'],
    ['a host with a hyphen in front', 'ann@-example.com'],
    ['a host with an underscore', 'ann@ex_ample.com'],
    ['a host with a port', 'ann@example.com:25'],
    ['a host with a path', 'ann@example.com/x'],
    ['a host escaped', 'ann@example%2ecom'],
    ['a host that changes its form', 'ann@example＠evil.com'],
    ['an invalid host in any script', 'ann@\u00ad'],
    ['a label of 64 characters', `ann@${label(64)}.example`],
    ['a name of 65 bytes', `${label(65)}@example.com`],
    ['a name of 66 bytes in 33 characters', `${'ä'.repeat(33)}@example.com`],
    ['255 characters', `${label(64)}@${longHost}a`],
    ['10 000 characters', `${label(10_000)}@example.com`],
  ])('%s', (_, address) => {
    expect(isMailable(address)).toBe(false)
  })

  test('that takes long to check', () => {
    expect(isMailable(`${'a.'.repeat(100_000)}@${'a.'.repeat(100_000)}`)).toBe(false)
  })
})

describe('the sender', () => {
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
  ])('accepts %s', (text, sender) => {
    expect(senderOf(text)).toEqual(sender)
  })

  test('has a host in ASCII', () => {
    expect(['a@Example.com', 'a@münchen.example'].map(domainOf)).toEqual(['example.com', 'xn--mnchen-3ya.example'])
  })
})
