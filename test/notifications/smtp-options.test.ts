import { expect, test } from 'vitest'
import { smtpOptionsOf } from '#notifications/smtp-mail'

const usual = { port: 587, secure: false, requireTLS: false, tls: { rejectUnauthorized: true } }
const secure = { port: 465, secure: true }
const unchecked = { tls: { rejectUnauthorized: false } }
const auth = { user: 'a', pass: 'b' }

test.each([
  ['smtp://mail.example', { host: 'mail.example' }],
  ['smtp://mail.example:25/', { host: 'mail.example', port: 25 }],
  ['smtps://mail.example', { host: 'mail.example', ...secure }],
  ['smtp://localhost:1025', { host: 'localhost', port: 1025, ...unchecked }],
  ['smtp://127.1.2.3', { host: '127.1.2.3', ...unchecked }],
  ['smtp://[::1]', { host: '::1', ...unchecked }],
  ['smtps://localhost', { host: 'localhost', ...secure }],
  ['smtp://a:b@mail.example', { host: 'mail.example', requireTLS: true, auth }],
  ['smtps://a%40b:%2F%3A@mail.example', { host: 'mail.example', ...secure, auth: { user: 'a@b', pass: '/:' } }],
  ['smtp://a:b@localhost', { host: 'localhost', auth, ...unchecked }],
  ['smtp://a:b@localhost.example', { host: 'localhost.example', requireTLS: true, auth }],
])('the URL %s is read as its options', (url, options) => {
  expect(smtpOptionsOf(url)).toEqual({ ...usual, ...options })
})
