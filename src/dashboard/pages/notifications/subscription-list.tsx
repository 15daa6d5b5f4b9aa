import { useState } from 'preact/hooks'
import type { Subscription } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { LocaleField, localeProblem } from '#dashboard/pages/notifications/locale-field'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { Form } from '#dashboard/parts/form'
import { Link, pathOf } from '#dashboard/parts/link'
import { Reading, Section } from '#dashboard/parts/page'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/notifications/notifications.css'

export interface SubscriptionListProps {
  readonly subscriptions: readonly Subscription[]
  /** Of functions, by their resource names, as far as they may be seen. */
  readonly names: ReadonlyMap<string, string>
  /** Whether these are all. */
  readonly isRead: boolean
}

type Doing = { readonly what: 'locale' | 'removal'; readonly subscription: Subscription } | undefined

export function SubscriptionList({ subscriptions, names, isRead }: SubscriptionListProps) {
  const [doing, setDoing] = useState<Doing>(undefined)
  const nameOf = ({ topic }: Subscription) => names.get(topic) ?? idOf(topic)
  const done = () => setDoing(undefined)
  const columns: readonly Column<Subscription>[] = [
    {
      key: 'topic',
      title: 'Function',
      cell: (subscription) =>
        names.has(subscription.topic) ? (
          <Link to={pathOf('functions', idOf(subscription.topic))}>{nameOf(subscription)}</Link>
        ) : (
          <span class="code">{nameOf(subscription)}</span>
        ),
    },
    { key: 'type', title: 'By', cell: ({ type }) => type },
    { key: 'locale', title: 'Locale', cell: ({ locale }) => <span class="code">{locale}</span> },
    { key: 'since', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'do',
      title: <span class="hidden">What to do</span>,
      align: 'end',
      cell: (subscription) => (
        <div class="actions">
          {mayI('notifications', 'update') && (
            <Button
              kind="quiet"
              label={`Change the locale of ${nameOf(subscription)}`}
              onPress={() => setDoing({ what: 'locale', subscription })}
            >
              Locale…
            </Button>
          )}
          {mayI('notifications', 'delete') && (
            <Button
              kind="quiet"
              label={`End the subscription to ${nameOf(subscription)}`}
              onPress={() => setDoing({ what: 'removal', subscription })}
            >
              End…
            </Button>
          )}
        </div>
      ),
    },
  ]
  const subject = doing && nameOf(doing.subscription)
  return (
    <Section title="What you get">
      <Table
        caption="Your subscriptions"
        columns={columns}
        rows={subscriptions}
        rowKey={({ resourceIdentifier }) => resourceIdentifier}
        empty={
          !isRead ? (
            <Reading what="your subscriptions" />
          ) : (
            <Empty title="You are subscribed to nothing">
              <p>
                {mayI('notifications', 'create')
                  ? 'Choose a function below: its mails come to the address of your account from then on.'
                  : 'Your roles do not let you subscribe. Ask an administrator.'}
              </p>
            </Empty>
          )
        }
      />
      <Dialog title={`Locale of ${subject}`} isOpen={doing?.what === 'locale'} onClose={done}>
        {doing && <LocaleForm subscription={doing.subscription} onDone={done} />}
      </Dialog>
      <Confirm
        title={`End the subscription to ${subject}?`}
        isOpen={doing?.what === 'removal'}
        onClose={done}
        onConfirm={async () => {
          if (doing) await end(doing.subscription)
        }}
        confirm="End it"
      >
        <p>No mail of it comes any more. You can subscribe again.</p>
      </Confirm>
    </Section>
  )
}

function LocaleForm({ subscription, onDone }: { readonly subscription: Subscription; readonly onDone: () => void }) {
  const [locale, setLocale] = useState(subscription.locale)
  const change = async () => {
    const parameters = { subscriptionId: idOf(subscription.resourceIdentifier) }
    await client.call('PATCH /notifications/subscribe/:subscriptionId', { parameters, body: { locale } })
    say(`Its mails come in ${locale} from now on`)
    onDone()
  }
  return (
    <Form submit="Change" onSubmit={change} onCancel={onDone} isDisabled={localeProblem(locale) !== undefined}>
      <LocaleField value={locale} onInput={setLocale} />
    </Form>
  )
}

async function end({ resourceIdentifier }: Subscription): Promise<void> {
  const parameters = { subscriptionId: idOf(resourceIdentifier) }
  await client.call('DELETE /notifications/subscribe/:subscriptionId', { parameters })
  say('The subscription is ended')
}
