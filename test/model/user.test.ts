import { describe, expect, test } from 'vitest'
import {
  Email,
  foldEmail,
  foldName,
  NewUserName,
  normalPassword,
  Password,
  RoleNames,
  SubmittedPassword,
  UserName,
} from '#model/user'
import { anyText } from '#test/kit/any-text'
import { forAll } from '#test/kit/for-all'

const notText = [undefined, null, 0, 1, true, {}, [], ['ann']]

describe('a name', () => {
  test.each([
    ...['a', 'ann', 'Ann Lee', 'ann@acme.example', 'Zoë', '安', 'x'.repeat(64), '😀'.repeat(64), 'a.b-c_d%e?f#g'],
  ])('%j is valid, and unchanged', (name) => {
    expect(UserName.parse(name)).toBe(name)
  })

  test.each([
    ...['', ' ', ' ann', 'ann ', '\u00a0ann', 'ann\u3000', 'a:b', 'a/b', '.', '..', 'a\nb', 'a\tb', 'a\0b', 'a\u007fb'],
    ...['a\u200bb', 'a\u202eb', 'a\u2028b', 'a\ud800b', 'x'.repeat(65), '😀'.repeat(65)],
    ...notText,
  ])('%j is refused', (name) => {
    expect(UserName.safeParse(name).success).toBe(false)
  })
})

describe('the name of an invited user', () => {
  test.each(['ann', 'anonymous-1', 'Anonymus'])('may be %j', (name) => {
    expect(NewUserName.parse(name)).toBe(name)
  })

  test.each(['anonymous', 'Anonymous', 'ANONYMOUS', 'ａnonymous', '', 'a:b', '..'])('is not %j', (name) => {
    expect(NewUserName.safeParse(name).success).toBe(false)
  })
})

describe('two names', () => {
  test.each([
    ['ann', 'ANN'],
    ['Ann', 'aNN'],
    ['𝐀𝐧𝐧', 'ann'],
    ['ａｎｎ', 'ann'],
    ['Zoe\u0308', 'ZOË'],
    ['ﬁn', 'FIN'],
    ['ΟΔΟΣ', 'οδος'],
    ['οδοσ', 'οδος'],
    ['Straße', 'STRASSE'],
    ['Straße', 'STRAẞE'],
    ['a\u00a0b', 'a b'],
  ])('are equal: %s and %s', (one, other) => {
    expect(foldName(one)).toBe(foldName(other))
  })

  test.each([
    ['ann', 'anne'],
    ['ann', 'an n'],
    ['zoe', 'zoë'],
    ['аnn', 'ann'],
  ])('are not equal: %s and %s', (one, other) => {
    expect(foldName(one)).not.toBe(foldName(other))
  })

  test('are compared for every letter in any case', () => {
    // No script above this has letters in two cases.
    for (let codePoint = 0; codePoint <= 0x1ffff; codePoint++) {
      if (codePoint === 0xd800) codePoint = 0xe000
      const letter = String.fromCodePoint(codePoint)
      const folded = foldName(letter)
      for (const same of [folded, letter.toUpperCase(), letter.toLowerCase()]) {
        if (same !== letter && foldName(same) !== folded) expect.fail(`${letter} is not equal to ${same}`)
      }
    }
  })

  test('a folded name does not change again', () => {
    forAll([anyText({ maxLength: 20 })], 300, (text) => {
      expect(foldName(foldName(text))).toBe(foldName(text))
    })
  })
})

describe('an e-mail address', () => {
  test.each([
    ...['a@b', 'Ann@Acme.example', 'ann+x@acme.example', '"ann"@[192.0.2.1]', 'zoë@例.example', `a@${'b'.repeat(252)}`],
  ])('%j is valid', (email) => {
    expect(Email.parse(email)).toBe(email)
  })

  test.each([
    ...['', 'a', '@', 'a@', '@b', 'a@b@c', 'a b@c', 'a@b c', 'a@b\n', 'a@\u200bb', `a@${'b'.repeat(253)}`],
    ...notText,
  ])('%j is refused', (email) => {
    expect(Email.safeParse(email).success).toBe(false)
  })

  test('addresses are compared without case', () => {
    expect(foldEmail('Ann@ACME.example')).toBe(foldEmail('ann@acme.EXAMPLE'))
  })
})

describe('a password', () => {
  test.each([
    ['ten characters', 'x'.repeat(10), 'x'.repeat(10)],
    ['the maximum number of characters', 'x'.repeat(256), 'x'.repeat(256)],
    ['characters of two units', '😀'.repeat(10), '😀'.repeat(10)],
    ['the maximum number with two units each', '😀'.repeat(256), '😀'.repeat(256)],
    ['spaces and control characters', ' \t\n 123456', ' \t\n 123456'],
    ['combining accents', 'e\u0301'.repeat(256), '\u00e9'.repeat(256)],
  ])('of %s is normalised', (_, text, normal) => {
    expect(Password.parse(text)).toBe(normal)
    expect(SubmittedPassword.parse(text)).toBe(normal)
    expect(normalPassword(text)).toBe(normal)
  })

  test.each<[string, unknown]>([
    ['nine characters', 'x'.repeat(9)],
    ['nine characters of two units', '😀'.repeat(9)],
    ['nine characters once composed', 'e\u0301'.repeat(9)],
    ['too many characters', 'x'.repeat(257)],
    ['too many characters of two units', '😀'.repeat(257)],
    ['a megabyte', 'x'.repeat(1024 * 1024)],
    ['a lone surrogate', `${'x'.repeat(10)}\ud800`],
    ...notText.map((value): [string, unknown] => ['a value that is not a text', value]),
  ])('of %s is refused', (_, text) => {
    expect(Password.safeParse(text).success).toBe(false)
  })

  test('at sign-in may be any text below the maximum length', () => {
    expect(SubmittedPassword.parse('')).toBe('')
    expect(SubmittedPassword.safeParse('x'.repeat(100_000)).success).toBe(false)
  })
})

describe('the roles of a user', () => {
  test('are unique', () => {
    expect(RoleNames.parse(['ops', 'viewer', 'ops'])).toEqual(['ops', 'viewer'])
  })

  test('are refused if a name is invalid, if there are too many, or if they are no list', () => {
    const many = Array.from({ length: 33 }, (_, index) => `r${index}`)
    for (const roles of [['a b'], [''], many, 'ops']) expect(RoleNames.safeParse(roles).success).toBe(false)
  })
})
