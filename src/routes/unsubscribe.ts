import { isTenantActive } from '#actors/directory/queries'
import { subscriberAddress, subscriberIdOf, type Unsubscribe } from '#actors/subscriber/state'
import * as api from '#api/notifications'
import { type Binding, bind, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** Routes that end subscriptions by the links in mails. RFC 2369, RFC 8058, contract 5.7. */
export function unsubscribeRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.readUnsubscribe, ({ parameters: { subscriptionId }, query }) => {
      checkSignature(context, subscriptionId, query)
      return pageOf(unsubscribeForm)
    }),

    bind(api.unsubscribeByLink, async (call) => {
      const { query, parameters } = call
      checkSignature(context, parameters.subscriptionId, query)
      const { tenant, user } = query
      call.identified({ tenant, user })
      if (isTenantActive(context.system, tenant)) {
        const end: Unsubscribe = { type: 'unsubscribe', id: parameters.subscriptionId, isByLink: true }
        await context.system.ask(subscriberAddress(tenant, subscriberIdOf(user)), end)
      }
      // After a click the answer is a page; mail programs send the request themselves, and need no page.
      return call.header('accept').includes('text/html') ? pageOf(unsubscribedText) : { status: 204, headers: noStore }
    }),
  ]
}

interface SignedLink {
  readonly tenant: string
  readonly user: string
  readonly sig: string
}

/** @throws Problem `forbidden` */
function checkSignature(
  { notifications: { unsubscribeUrls } }: RouteContext,
  subscription: string,
  { tenant, user, sig }: SignedLink,
): void {
  if (!unsubscribeUrls.isValid({ tenant, user, subscription }, sig)) throw new Problem('forbidden')
}

const noStore = { 'Cache-Control': 'no-store' }

/** The page loads and runs nothing and must not be framed. Its address is a credential: other sites get no referrer. */
const pageHeaders = {
  ...noStore,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

/** The form is sent to the URL of its page. */
const unsubscribeForm = `<p>Do you want to stop receiving these mails?</p>
<form method="post"><button name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`

const unsubscribedText = '<p>You will not receive these mails any more.</p>'

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
