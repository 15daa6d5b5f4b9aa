import { isTenantThere } from '#actors/directory/queries'
import { subscriberAddress, subscriberIdOf } from '#actors/subscriber/address'
import type { Unsubscribe } from '#actors/subscriber/commands'
import * as api from '#api/unsubscribe'
import { type Binding, bind, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** Who ends subscriptions by the addresses that stand in mails. RFC 2369, RFC 8058, contract 5.7. */
export function unsubscribeRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.readUnsubscribe, ({ parameters: { subscriptionId }, query }) => {
      checkSigned(context, subscriptionId, query)
      return pageOf(question)
    }),

    bind(api.unsubscribeByLink, async (call) => {
      const { query, parameters } = call
      checkSigned(context, parameters.subscriptionId, query)
      const { tenant, user } = query
      if (isTenantThere(context.system, tenant)) {
        const end: Unsubscribe = { type: 'unsubscribe', id: parameters.subscriptionId, isByLink: true }
        await context.system.ask(subscriberAddress(tenant, subscriberIdOf(user)), end)
      }
      // Whoever pressed the button looks at a page; mail programs do it for people and want none.
      return call.header('accept').includes('text/html') ? pageOf(ended) : { status: 204, headers: unkept }
    }),
  ]
}

interface Signed {
  readonly tenant: string
  readonly user: string
  readonly sig: string
}

/** @throws Problem `forbidden` */
function checkSigned(
  { notifications: { unsubscribeUrls } }: RouteContext,
  subscription: string,
  { tenant, user, sig }: Signed,
): void {
  if (!unsubscribeUrls.isGood({ tenant, user, subscription }, sig)) throw new Problem('forbidden')
}

const unkept = { 'Cache-Control': 'no-store' }

/** Nothing is loaded or run, nobody frames it, and its address, which is a credential, goes to nobody else. */
const pageHeaders = {
  ...unkept,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

/** The form is sent to the address of its page. */
const question = `<p>Do you want no more of these mails?</p>
<form method="post"><button name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`

const ended = '<p>You will get no more of these mails.</p>'

function pageOf(content: string): Reply {
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Unsubscribe</title>
${content}
</html>
`
  return { status: 200, headers: pageHeaders, text }
}
