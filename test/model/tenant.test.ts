import { describe, expect, test } from 'vitest'
import { HostName, TenantHosts, TenantName, TenantReference } from '#model/tenant'

const notText = [undefined, null, 0, true, {}, ['acme']]

describe('the tenant', () => {
  test.each([
    ['acme', 'acme'],
    ['crn#tenant:acme', 'acme'],
    ['0-9', '0-9'],
    ['x'.repeat(63), 'x'.repeat(63)],
    [`crn#tenant:${'x'.repeat(63)}`, 'x'.repeat(63)],
  ])('of %s is %s', (text, tenant) => {
    expect(TenantReference.parse(text)).toBe(tenant)
  })

  test.each([
    ...['', 'Acme', 'a b', 'crn#tenant:', 'crn#tenant:Acme', 'crn#user:acme', 'crn#role:acme/ops', 'x'.repeat(64)],
    ...notText,
  ])('%j is refused', (text) => {
    expect(TenantReference.safeParse(text).success).toBe(false)
  })
})

describe('a host', () => {
  test.each([
    ['acme.example', 'acme.example'],
    ['Devices.ACME.example', 'devices.acme.example'],
    ['localhost', 'localhost'],
    ['localhost:8080', 'localhost:8080'],
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:443', '192.0.2.1:443'],
    ['[2001:DB8::1]', '[2001:db8::1]'],
    ['[2001:db8:0:0:0:0:0:1]:8080', '[2001:db8::1]:8080'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['my_device.local', 'my_device.local'],
  ])('%s is valid', (text, host) => {
    expect(HostName.parse(text)).toBe(host)
  })

  test.each([
    ...['', 'https://acme.example', 'acme.example/', 'acme.example:', 'acme.example:99999', 'acme.example:http'],
    ...['a@acme.example', '*.acme.example', '-acme.example', 'acme..example', 'acme.example.', 'bücher.example', 'a b'],
    ...['2001:db8::1', '[2001:db8::1', '[::g]', '999.1.1.1', 'x'.repeat(64), `${'x.'.repeat(200)}x`],
    ...notText,
  ])('%j is refused', (text) => {
    expect(HostName.safeParse(text).success).toBe(false)
  })

  test('hosts are unique, and limited in number', () => {
    expect(TenantHosts.parse(['A', 'a', 'b'])).toEqual(['a', 'b'])
    const many = Array.from({ length: 33 }, (_, index) => `h${index}`)
    expect([TenantHosts.safeParse(many).success, TenantHosts.safeParse(many.slice(1)).success]).toEqual([false, true])
  })
})

test('the name of a tenant is a text for users', () => {
  for (const name of ['Acme', 'Acme: Works / Hall 3', '安', 'x'.repeat(128)]) expect(TenantName.parse(name)).toBe(name)
  for (const name of ['', ' Acme', 'a\nb', 'x'.repeat(129)]) expect(TenantName.safeParse(name).success).toBe(false)
})
