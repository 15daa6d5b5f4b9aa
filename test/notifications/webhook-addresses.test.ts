import { expect, test } from 'vitest'
import { isAllowable, WebhookAddresses } from '#notifications/webhook-addresses'

/** Addresses that a webhook may and may not reach, and WEBHOOK_ALLOW. Contract 12. */

const open = new WebhookAddresses()
const mayConnect = (address: string, addresses = open) => addresses.mayConnect('https:', 'example.com', address)

test.each([
  ['0.0.0.0', 'this host'],
  ['0.1.2.3', 'this network'],
  ['10.0.0.1', 'private'],
  ['100.64.0.1', 'shared by carriers'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['169.254.169.254', 'link-local: data of cloud machines'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.8', 'protocols'],
  ['192.0.2.1', 'documentation'],
  ['192.168.1.1', 'private'],
  ['198.19.0.1', 'benchmarks'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'this host'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['::ffff:127.0.0.1', 'IPv4-mapped'],
  ['::ffff:8.8.8.8', 'IPv4-mapped'],
  ['::ffff:0:127.0.0.1', 'IPv4-translated'],
  ['64:ff9b::7f00:1', 'NAT64'],
  ['64:ff9b:1::7f00:1', 'NAT64, local'],
  ['100::1', 'discarded'],
  ['2001::1', 'Teredo'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', '6to4'],
  ['3fff::1', 'documentation'],
  ['fc00::1', 'private'],
  ['fd12:3456::1', 'private'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
])('an address that is not on the public internet is refused: %s (%s)', (address) => {
  expect(mayConnect(address)).toBe(false)
})

test.each(['1.1.1.1', '9.255.255.255', '100.128.0.1', '172.32.0.1', '223.255.255.255', '2606:4700::1111', '2a00::1'])(
  'the public address %s may be reached over TLS only',
  (address) => {
    expect(mayConnect(address)).toBe(true)
    expect(open.mayConnect('http:', 'example.com', address)).toBe(false)
  },
)

test.each([
  ['10.0.0.0/8', '10.1.2.3', true],
  ['10.0.0.0/8', '11.1.2.3', true],
  ['10.0.0.0/8', '192.168.0.1', false],
  ['127.0.0.1', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.2', false],
  ['fd00::/8', 'fd00::1', true],
  ['fd00::/8', 'fe80::1', false],
  ['::1', '::1', true],
  ['example.com', '10.0.0.1', true],
  ['other.example', '10.0.0.1', false],
])('with WEBHOOK_ALLOW=%s, a webhook to example.com may connect to %s: %s', (allowed, address, isAllowed) => {
  expect(mayConnect(address, new WebhookAddresses([allowed]))).toBe(isAllowed)
})

const publicOnly = 'must have a public address; WEBHOOK_ALLOW can name others'
const tlsOnly = 'must begin with https:, except for hosts that WEBHOOK_ALLOW names'

test.each([
  ['https://example.com/a', [], undefined],
  ['http://example.com/a', [], tlsOnly],
  ['http://example.com/a', ['example.com'], undefined],
  ['http://example.com/a', ['127.0.0.0/8'], undefined],
  ['http://Example.com./a', ['example.COM'], undefined],
  ['http://1.1.1.1', [], tlsOnly],
  ['http://1.1.1.1', ['1.1.1.0/24'], undefined],
  ['https://1.1.1.1', [], undefined],
  ['https://127.0.0.1', [], publicOnly],
  ['https://127.1', [], publicOnly],
  ['https://2130706433', [], publicOnly],
  ['https://0x7f000001', [], publicOnly],
  ['https://0177.0.0.1', [], publicOnly],
  ['https://0', [], publicOnly],
  ['https://①②⑦.0.0.1', [], publicOnly],
  ['https://[::1]', [], publicOnly],
  ['https://[::ffff:127.0.0.1]', [], publicOnly],
  ['https://[64:ff9b::127.0.0.1]', [], publicOnly],
  ['https://[2002:7f00:1::]', [], publicOnly],
  ['http://[::1]:8080', ['::1'], undefined],
  ['http://10.0.0.1', ['10.0.0.1'], undefined],
  ['http://10.0.0.1', ['10.0.0.2'], tlsOnly],
])('%s with WEBHOOK_ALLOW=%s is checked before its host is resolved', (url, allowed, fault) => {
  expect(new WebhookAddresses(allowed).faultOf(url)).toBe(fault)
})

test.each([
  ['localhost', true],
  ['hooks.example.com', true],
  ['my_service', true],
  ['10.0.0.1', true],
  ['10.0.0.0/8', true],
  ['::1', true],
  ['fd00::/8', true],
  ['0.0.0.0/0', true],
  ['10.0.0.0/33', false],
  ['fd00::/129', false],
  ['10.0.0.0/', false],
  ['10.0.0.0/8/8', false],
  ['example.com/8', false],
  ['https://example.com', false],
  ['example.com:80', false],
  ['*', false],
  ['', false],
])('%s is a valid entry of WEBHOOK_ALLOW: %s', (text, isValid) => {
  expect(isAllowable(text)).toBe(isValid)
})
