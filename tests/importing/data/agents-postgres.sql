CREATE TABLE public.agent_messages (
    id integer NOT NULL,
    session_id character varying NOT NULL,
    message_data text NOT NULL,
    created_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);
CREATE SEQUENCE public.agent_messages_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.agent_messages_id_seq OWNED BY public.agent_messages.id;
CREATE TABLE public.agent_sessions (
    session_id character varying NOT NULL,
    created_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);
ALTER TABLE ONLY public.agent_messages ALTER COLUMN id SET DEFAULT nextval('public.agent_messages_id_seq'::regclass);
INSERT INTO public.agent_messages VALUES (1, 'alchemy', '{"role":"user","content":"I live in Berlin. My name is Ada \u2014 \u6771\u4eac \ud83d\udc69\u200d\ud83d\udcbb\n\twith a tab."}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (2, 'alchemy', '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"She asks for the weather."}]}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (3, 'alchemy', '{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{\"city\": \"Berlin\"}"}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (4, 'alchemy', '{"type":"function_call_output","call_id":"call_1","output":"sunny, 21\u00b0"}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (5, 'alchemy', '{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"It is sunny in Berlin.","annotations":[]}]}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (6, 'alchemy', '{"role":"user","content":[{"type":"input_text","text":"Thanks!"}]}', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_messages VALUES (7, 'a second one', '{"role":"user","content":"I live in Berlin. My name is Ada \u2014 \u6771\u4eac \ud83d\udc69\u200d\ud83d\udcbb\n\twith a tab."}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_messages VALUES (8, 'a second one', '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"She asks for the weather."}]}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_messages VALUES (9, 'a second one', '{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{\"city\": \"Berlin\"}"}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_messages VALUES (10, 'a second one', '{"type":"function_call_output","call_id":"call_1","output":"sunny, 21\u00b0"}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_messages VALUES (11, 'a second one', '{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"It is sunny in Berlin.","annotations":[]}]}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_messages VALUES (12, 'a second one', '{"role":"user","content":[{"type":"input_text","text":"Thanks!"}]}', '2026-11-16 12:29:33.270542');
INSERT INTO public.agent_sessions VALUES ('alchemy', '2026-11-16 12:29:33.224859', '2026-11-16 12:29:33.224859');
INSERT INTO public.agent_sessions VALUES ('a second one', '2026-11-16 12:29:33.270542', '2026-11-16 12:29:33.270542');
ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_sessions
    ADD CONSTRAINT agent_sessions_pkey PRIMARY KEY (session_id);
CREATE INDEX idx_agent_messages_session_time ON public.agent_messages USING btree (session_id, created_at);
ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.agent_sessions(session_id) ON DELETE CASCADE;
