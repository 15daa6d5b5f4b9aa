import { Component, type ComponentChildren, Fragment } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { Command } from '#dashboard/components/copy-button'
import { problemText } from '#dashboard/components/problem-text'
import type { CallState } from '#dashboard/components/use-call'

export interface PageProps {
  readonly title: string
  /** Next to the title: a status, a badge. */
  readonly beside?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Fills the window; its content scrolls. */
  readonly isFilling?: boolean | undefined
  readonly children: ComponentChildren
}

/** A page: its heading, which is also the window's title, and its content. */
export function Page({ title, beside, actions, isFilling, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Device Data Backend`
  }, [title])
  return (
    <div class={isFilling ? 'page filling' : 'page'}>
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export interface SectionProps {
  readonly title: ComponentChildren
  readonly beside?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Section({ title, beside, actions, children }: SectionProps) {
  const id = useId()
  return (
    <section class="section" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Shown while the content is not known yet. */
export function Loading({ text = 'Loading…' }: { readonly text?: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {text}
    </p>
  )
}

/** Names and values; undefined values are left out. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts).map(([name, value]) =>
        value === undefined ? null : (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
      )}
    </dl>
  )
}

export interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  readonly command?: string | undefined
}

/** Shown in place of an empty list: explains the next steps. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <div class="prose">{children}</div>
      {command !== undefined && <Command command={command} />}
    </div>
  )
}

/** Shown if the connection was closed before anything was read. */
export function NotLoaded() {
  return (
    <Empty title="Nothing loaded">
      <p>The connection was closed before the data was loaded. Press Reconnect above.</p>
    </Empty>
  )
}

export interface FailureProps {
  readonly text: string
  /** The label of the button: what to do. */
  readonly action?: string
  readonly onPress: () => void
}

export function Failure({ text, action = 'Try again', onPress }: FailureProps) {
  return (
    <div class="notice bad" role="alert">
      <p>{text}</p>
      <Button onPress={onPress}>{action}</Button>
    </div>
  )
}

export interface CallResultProps<Value> {
  readonly call: CallState<Value>
  readonly children: (value: Value) => ComponentChildren
}

/** Shows a call: loading, its failure with a button to try again, or its value. */
export function CallResult<Value>({ call: { value, problem, isLoading, refresh }, children }: CallResultProps<Value>) {
  return (
    <>
      {problem !== undefined && <Failure text={problemText(problem)} onPress={refresh} />}
      {value === undefined && isLoading && <Loading />}
      {value !== undefined && children(value)}
    </>
  )
}

/** Catches the failure of its content, so that the rest of the page works, and offers another attempt. */
export class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, { readonly problem?: unknown }> {
  override state: { readonly problem?: unknown } = {}

  override componentDidCatch(problem: unknown): void {
    console.error(problem)
    this.setState({ problem })
  }

  override render() {
    if (this.state.problem === undefined) return this.props.children
    return (
      <Page title="This page failed">
        <Empty title="An error occurred in the dashboard">
          <p class="code">{String(this.state.problem)}</p>
          <Button kind="primary" onPress={() => this.setState({ problem: undefined })}>
            Try again
          </Button>
        </Empty>
      </Page>
    )
  }
}
