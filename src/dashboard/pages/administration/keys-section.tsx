import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { expiresIn, keyLifetimes } from '#dashboard/pages/administration/lifetimes'
import { ShownOnce } from '#dashboard/pages/administration/shown-once'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Answered, Section } from '#dashboard/parts/page'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'

/** Keys of whatever kind: listed, made, shown once, deleted. Contract 2. */

interface Key {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt?: number | undefined
}

/** What every new key has. */
interface NewKey {
  readonly name: string
  /** Seconds; without it, until it is deleted. */
  readonly expiresIn?: number
}

export interface MadeKey {
  readonly name: string
  readonly key: string
}

export interface KeysSectionProps<Listed extends Key, More> {
  /** One of them, `API key`; many have an s behind that. */
  readonly kind: string
  readonly read: () => Promise<readonly Listed[]>
  readonly mayMake: boolean
  readonly mayDelete: boolean
  /** What is shown of each beside its name and its times. */
  readonly columns: readonly Column<Listed>[]
  /** Stands where there is none. */
  readonly empty: ComponentChildren
  readonly nameHint: string
  /** What a new one has beside its name and its end: at first, and the fields of it. */
  readonly first: More
  readonly fields: (more: More, change: (more: More) => void) => ComponentChildren
  readonly make: (key: NewKey, more: More) => Promise<{ readonly key: string }>
  /** What is done with one that was made. */
  readonly use: (made: MadeKey) => ComponentChildren
  readonly remove: (key: Listed) => Promise<unknown>
  /** What ends with one: `its links`. */
  readonly endsWith: string
  /** What deleting it comes to. */
  readonly loss: (key: Listed) => ComponentChildren
}

export function KeysSection<Listed extends Key, More>(props: KeysSectionProps<Listed, More>) {
  const { kind, mayMake, mayDelete, empty, use, endsWith } = props
  const keys = useCall(props.read, [])
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<MadeKey>()
  const [ended, end] = useState<Listed>()
  const columns: readonly Column<Listed>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code> },
    ...props.columns,
    { key: 'created', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'expires',
      title: 'Ends',
      cell: ({ expiresAt }) => (expiresAt === undefined ? 'when deleted' : <Time at={expiresAt} />),
    },
    {
      key: 'actions',
      title: <span class="hidden">Actions</span>,
      cell: (key) =>
        mayDelete && (
          <Button kind="quiet" label={`Delete ${key.name}`} onPress={() => end(key)}>
            Delete
          </Button>
        ),
    },
  ]
  return (
    <Section
      title={`${kind.charAt(0).toUpperCase()}${kind.slice(1)}s`}
      actions={
        mayMake && (
          <Button kind="primary" onPress={() => setMaking(true)}>
            New {kind}
          </Button>
        )
      }
    >
      {made && (
        <ShownOnce
          title={`The ${kind} ${made.name}`}
          secret={made.key}
          label="Copy the key"
          onPutAway={() => setMade(undefined)}
        >
          {use(made)}
        </ShownOnce>
      )}
      <Answered called={keys}>
        {(list) => (
          <Table caption={`List of ${kind}s`} columns={columns} rows={list} rowKey={({ id }) => id} empty={empty} />
        )}
      </Answered>
      <Dialog title={`New ${kind}`} isOpen={isMaking} onClose={() => setMaking(false)}>
        <KeyForm
          {...props}
          onCancel={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false)
            setMade(key)
            keys.again()
          }}
        />
      </Dialog>
      <Confirm
        title={`Delete the key ${ended?.name ?? ''}?`}
        isOpen={ended !== undefined}
        onClose={() => end(undefined)}
        confirm="Delete the key"
        onConfirm={async () => {
          if (!ended) return
          await props.remove(ended)
          say(`The key ${ended.name} has ended, with ${endsWith}`)
          keys.again()
        }}
      >
        <p>{ended && props.loss(ended)}</p>
      </Confirm>
    </Section>
  )
}

interface KeyFormProps<Listed extends Key, More>
  extends Pick<KeysSectionProps<Listed, More>, 'kind' | 'nameHint' | 'first' | 'fields' | 'make'> {
  readonly onMade: (made: MadeKey) => void
  readonly onCancel: () => void
}

function KeyForm<Listed extends Key, More>(props: KeyFormProps<Listed, More>) {
  const { kind, nameHint, first, fields, make, onMade, onCancel } = props
  const [name, setName] = useState('')
  const [more, setMore] = useState(first)
  const [lifetime, setLifetime] = useState('')
  const submit = async () => {
    const { key } = await make({ name: name.trim(), ...expiresIn(lifetime) }, more)
    onMade({ name: name.trim(), key })
  }
  return (
    <Form label={`New ${kind}`} submit="Make the key" onSubmit={submit} onCancel={onCancel} isUnsaved="touched">
      <TextField label="Name" hint={nameHint} value={name} onInput={setName} maxLength={64} isRequired hasFocus />
      {fields(more, (next) => setMore(() => next))}
      <Select label="It is good" value={lifetime} options={keyLifetimes} onChange={setLifetime} />
    </Form>
  )
}
