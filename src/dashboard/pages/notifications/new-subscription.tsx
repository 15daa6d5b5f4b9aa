import { useState } from 'preact/hooks'
import type { Subscription } from '#client/client'
import { LocaleField, localeProblem, ownLocale } from '#dashboard/pages/notifications/locale-field'
import type { Fn } from '#dashboard/pages/notifications/page'
import { refusedFor } from '#dashboard/parts/details'
import { Empty } from '#dashboard/parts/empty'
import { Select } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Link } from '#dashboard/parts/link'
import { Answered, Section } from '#dashboard/parts/page'
import { say } from '#dashboard/parts/toasts'
import type { Called } from '#dashboard/parts/use-call'
import { client, mayI } from '#dashboard/session'

export interface NewSubscriptionProps {
  readonly functions: Called<readonly Fn[]>
  readonly subscriptions: readonly Subscription[]
}

/** Functions that one may read and is not subscribed to yet. By mail, which is all that is delivered. §2.6 */
export function NewSubscription({ functions, subscriptions }: NewSubscriptionProps) {
  const topics = new Set(subscriptions.map(({ topic }) => topic))
  return (
    <Section title="Subscribe">
      <Answered called={functions}>
        {(found) => {
          const open = found.filter(({ resourceIdentifier }) => !topics.has(resourceIdentifier))
          if (found.length === 0) return <NoFunction />
          if (open.length === 0) {
            return <p class="soft">You are subscribed to every function that you may see.</p>
          }
          return <SubscribeForm functions={open.toSorted((a, b) => a.name.localeCompare(b.name))} />
        }}
      </Answered>
    </Section>
  )
}

function NoFunction() {
  return (
    <Empty title="There is nothing to subscribe to yet">
      <p>Mails come from functions, which say what is told and when.</p>
      {mayI('functions', 'create') ? (
        <p>
          <Link to="/functions/new">Make a function</Link> first.
        </p>
      ) : (
        <p>You may see none. Ask somebody who makes them.</p>
      )}
    </Empty>
  )
}

/** The function that somebody came from, by the address: `#/notifications?function=7Gm2sXv5Hd`. */
function askedFor(): string {
  const id = new URLSearchParams(location.hash.split('?')[1]).get('function')
  return id === null ? '' : `crn#function:${id}`
}

function SubscribeForm({ functions }: { readonly functions: readonly Fn[] }) {
  const [chosen, setTopic] = useState(askedFor)
  const [locale, setLocale] = useState(ownLocale)
  // It may have gone from the list, by the very subscribing.
  const topic = functions.some(({ resourceIdentifier }) => resourceIdentifier === chosen) ? chosen : ''
  const subscribe = async () => {
    const name = functions.find(({ resourceIdentifier }) => resourceIdentifier === topic)?.name
    try {
      await client.call('POST /notifications/subscribe', { body: { topic, type: 'email', locale } })
    } catch (problem) {
      const said = refusedFor(problem, 403, 'You may not read all the devices that this function is about.')
      throw refusedFor(said, 409, 'You are subscribed to it already.')
    }
    say(`You get the mails of ${name} from now on`)
  }
  return (
    <Form
      submit="Subscribe"
      label="Subscribe"
      onSubmit={subscribe}
      isDisabled={topic === '' || localeProblem(locale) !== undefined}
    >
      <Select
        label="Function"
        value={topic}
        options={[
          { value: '', label: 'Choose' },
          ...functions.map(({ resourceIdentifier, name, enabled }) => ({
            value: resourceIdentifier,
            label: enabled ? name : `${name} (disabled)`,
          })),
        ]}
        onChange={setTopic}
      />
      <p class="hint">By mail, to the address of your account.</p>
      <LocaleField value={locale} onInput={setLocale} />
    </Form>
  )
}
